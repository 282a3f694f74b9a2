package import TransferSystem

/// Optional shared libraries that make work faster, and methods that are looked up at their first use.
package enum SharedLibraries {
    /// Opens all libraries and looks up all methods now, for a process that will soon confine itself.
    ///
    /// - Returns: the libraries that are not used, by file name.
    package static func open() -> [(file: String, refusal: LibraryRefusal)] {
        _ = XXHash.functions
        _ = CompressionEngine.automatic
        _ = SHA256Method.shared
        return [(XXHash.fileName, refusal(XXHash.opening)), (ISALibrary.fileName, refusal(ISALibrary.opening))]
            .compactMap { file, refusal in refusal.map { (file, $0) } }
    }

    private static func refusal<Library>(_ opening: Result<Library, LibraryRefusal>) -> LibraryRefusal? {
        guard case .failure(let refusal) = opening else { return nil }
        return refusal
    }
}
