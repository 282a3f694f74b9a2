package import TransferModel

/// A file in a copy of a directory that is what was acknowledged in the original: same path, size and time of modification, and,
/// when it was read, same digest.
package struct AdoptedFile: Equatable, Sendable {
    package let path: String
    package let digest: Digest

    /// The file's in the copy.
    package let version: ContentVersion

    package init(path: String, digest: Digest, version: ContentVersion) {
        (self.path, self.digest, self.version) = (path, digest, version)
    }
}

/// Files by which the catalog is to know a copy of the directory.
package struct Adoptions: Equatable, Sendable {
    package var files: [AdoptedFile] = []

    /// Nobody has changed them, and yet they are not what was acknowledged: the original had lost them, or the copy has.
    package var rotten: [RottenFile] = []

    package init() {}

    package var isEmpty: Bool { files.isEmpty && rotten.isEmpty }
}
