"""Does a sampler follow the law that it declares?"""
