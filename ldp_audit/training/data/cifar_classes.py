"""CIFAR-100's hundred classes and twenty superclasses (Krizhevsky 2009, section 3.2).

Fine labels number the classes, coarse labels the superclasses, both alphabetically. FedMD-NFDP's private data are six
of the classes, and in its non-IID setting superclasses 0 to 5.
"""

from __future__ import annotations

SUPERCLASSES: dict[str, tuple[str, str, str, str, str]] = {
    "aquatic_mammals": ("beaver", "dolphin", "otter", "seal", "whale"),
    "fish": ("aquarium_fish", "flatfish", "ray", "shark", "trout"),
    "flowers": ("orchid", "poppy", "rose", "sunflower", "tulip"),
    "food_containers": ("bottle", "bowl", "can", "cup", "plate"),
    "fruit_and_vegetables": ("apple", "mushroom", "orange", "pear", "sweet_pepper"),
    "household_electrical_devices": ("clock", "keyboard", "lamp", "telephone", "television"),
    "household_furniture": ("bed", "chair", "couch", "table", "wardrobe"),
    "insects": ("bee", "beetle", "butterfly", "caterpillar", "cockroach"),
    "large_carnivores": ("bear", "leopard", "lion", "tiger", "wolf"),
    "large_man-made_outdoor_things": ("bridge", "castle", "house", "road", "skyscraper"),
    "large_natural_outdoor_scenes": ("cloud", "forest", "mountain", "plain", "sea"),
    "large_omnivores_and_herbivores": ("camel", "cattle", "chimpanzee", "elephant", "kangaroo"),
    "medium_mammals": ("fox", "porcupine", "possum", "raccoon", "skunk"),
    "non-insect_invertebrates": ("crab", "lobster", "snail", "spider", "worm"),
    "people": ("baby", "boy", "girl", "man", "woman"),
    "reptiles": ("crocodile", "dinosaur", "lizard", "snake", "turtle"),
    "small_mammals": ("hamster", "mouse", "rabbit", "shrew", "squirrel"),
    "trees": ("maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"),
    "vehicles_1": ("bicycle", "bus", "motorcycle", "pickup_truck", "train"),
    "vehicles_2": ("lawn_mower", "rocket", "streetcar", "tank", "tractor"),
}
"""The classes of each superclass, by coarse label."""

FINE_CLASSES: tuple[str, ...] = tuple(sorted(name for names in SUPERCLASSES.values() for name in names))
"""The names of the classes, by fine label."""

COARSE_CLASSES: tuple[str, ...] = tuple(SUPERCLASSES)
"""The names of the superclasses, by coarse label."""

COARSE_OF_FINE: tuple[int, ...] = tuple(
    next(coarse for coarse, names in enumerate(SUPERCLASSES.values()) if name in names) for name in FINE_CLASSES
)
"""The coarse label of each fine label."""
