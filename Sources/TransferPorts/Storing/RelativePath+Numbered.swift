package import TransferModel

extension RelativePath {
    /// The path with a number before the extension, as in `photo-1.png`; a stem that would become too long loses its
    /// last characters.
    ///
    /// - Throws: `Fault` when no such name is a path.
    package func numbered(_ number: Int) throws(Fault) -> RelativePath {
        // By its scalars: a combining mark behind the dot makes one character with it.
        let dot = name.unicodeScalars.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        let suffix = "-\(number)" + name[dot...]
        var stem = name[..<dot]
        while stem.utf8.count + suffix.utf8.count > Limits.pathComponent, !stem.isEmpty { stem.removeLast() }
        return try renamed(stem + suffix)
    }
}

extension ConflictPolicy {
    /// Numbered names tried before giving up; more files of one name are a mistake, and each costs a look.
    package static let mostNumbers = 10_000
}
