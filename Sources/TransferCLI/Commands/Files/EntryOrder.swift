/// The order of paths in lists: by the bytes of their names, and what is in a folder right behind it.
enum EntryOrder {
    static func precedes(_ a: String, _ b: String) -> Bool {
        a.utf8.lazy.map(weight).lexicographicallyPrecedes(b.utf8.lazy.map(weight))
    }

    /// No name has a zero in it, so a slash comes before all that does not end there.
    private static func weight(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }
}
