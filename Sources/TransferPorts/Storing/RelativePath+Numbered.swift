package import TransferModel

extension RelativePath {
    /// The path with a number before the extension, as in `photo-1.png`. A name that would become too long loses the
    /// last characters before the number.
    ///
    /// - Throws: `Fault` if the path would be invalid.
    package func numbered(_ number: Int) throws(Fault) -> RelativePath {
        // Searches scalars, because a combining mark after the dot makes one character with it.
        let dot = name.unicodeScalars.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        let suffix = "-\(number)" + name[dot...]
        var stem = name[..<dot]
        while stem.utf8.count + suffix.utf8.count > Limits.pathComponent, !stem.isEmpty { stem.removeLast() }
        return try renamed(stem + suffix)
    }
}

extension ConflictPolicy {
    /// The most numbered names that are tried. More files with one name are a mistake, and each attempt costs a look.
    package static let mostNumbers = 10_000
}
