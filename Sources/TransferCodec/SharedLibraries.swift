package import TransferSystem

/// What is only faster and opened at run time where it is installed, or looked up when first used.
package enum SharedLibraries {
    /// Opens and looks up all of it now, for a process that will soon be unable to.
    ///
    /// - Returns: what is not used, by the names of the files.
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
