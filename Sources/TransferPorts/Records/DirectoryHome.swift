package import TransferModel

/// Identifies the place of a server's directory by its mark file and its catalog file. Every copy of the directory has
/// another mark, because no program can set a file's time of change (ctime). A remount, a move within the file system
/// and an image of the disk keep inode numbers and times of change, and so the mark.
package struct DirectoryHome: Equatable, Sendable {
    /// The content of the mark: a random number for each directory.
    package let token: UInt64

    /// The inode number and the time of change of the mark, as in `ContentVersion`.
    package let object: UInt64
    package let touch: Int64

    /// The inode number of the catalog's file. A catalog that was restored from a backup has another one.
    package let catalog: UInt64

    package init(token: UInt64, object: UInt64, touch: Int64, catalog: UInt64) {
        (self.token, self.object, self.touch, self.catalog) = (token, object, touch, catalog)
    }
}

/// The home that the catalog has recorded.
package struct KnownHome: Equatable, Sendable {
    package let home: DirectoryHome

    /// Whether files of a copied directory still have to be adopted.
    package let isAdopting: Bool

    package init(_ home: DirectoryHome, isAdopting: Bool) { (self.home, self.isAdopting) = (home, isAdopting) }
}

/// A file in a copied directory that is what was acknowledged in the original: it has the same path, size, time of
/// modification and digest.
package struct AdoptedFile: Equatable, Sendable {
    package let path: String
    package let digest: Digest

    /// The version of the file in the copy.
    package let version: ContentVersion

    package init(path: String, digest: Digest, version: ContentVersion) {
        (self.path, self.digest, self.version) = (path, digest, version)
    }
}

/// What the catalog has to record for files of a copied directory.
package struct Adoptions: Equatable, Sendable {
    package var files: [AdoptedFile] = []

    /// Files with the acknowledged size and time of modification but another digest: damaged in the original or in the
    /// copy.
    package var rotten: [RottenFile] = []

    package init() {}

    package var isEmpty: Bool { files.isEmpty && rotten.isEmpty }
}

/// A stored file whose content the disk has lost: it was not changed, but is not what was acknowledged.
///
/// It is identified by the file and not by a path, because all names of the file have lost the content, wherever they
/// are moved.
package struct RottenFile: Equatable, Sendable {
    /// The version of the file when it was read. `touch` is ignored, because new permissions or names do not restore
    /// the content.
    package var version: ContentVersion

    /// The digest that was acknowledged.
    package var digest: Digest

    package init(version: ContentVersion, digest: Digest) { (self.version, self.digest) = (version, digest) }
}
