package import TransferModel

/// Identifies the place of a server's directory by its mark file and its catalog file. Every copy of the directory has another mark,
/// because no program can set a file's time of change (ctime). A remount, a move within the file system and an image of the disk keep the
/// mark: they keep inode numbers and times of change.
package struct DirectoryHome: Equatable, Sendable {
    /// What is in the mark: a random number, another one for each directory.
    package let token: UInt64

    /// The mark's number and its time of change, as in `ContentVersion`.
    package let object: UInt64
    package let touch: Int64

    /// The number of the catalog's file: one of yesterday that was put in the place of today's has another.
    package let catalog: UInt64

    package init(token: UInt64, object: UInt64, touch: Int64, catalog: UInt64) {
        (self.token, self.object, self.touch, self.catalog) = (token, object, touch, catalog)
    }
}

/// A home as the catalog knows it.
package struct KnownHome: Equatable, Sendable {
    package let home: DirectoryHome

    /// Whether files of a copied directory have yet to be adopted.
    package let isAdopting: Bool

    package init(_ home: DirectoryHome, isAdopting: Bool) { (self.home, self.isAdopting) = (home, isAdopting) }
}

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

    /// Files with the acknowledged size and time of modification and with another digest: damaged in the original or in the copy.
    package var rotten: [RottenFile] = []

    package init() {}

    package var isEmpty: Bool { files.isEmpty && rotten.isEmpty }
}

/// A stored file that the disk has lost: nobody has changed it, and its content is not what was acknowledged.
///
/// It is known by the file and not by a name: all its names have lost it, wherever they are moved.
package struct RottenFile: Equatable, Sendable {
    /// The file's when its content was read. Its `touch` says nothing: new permissions or names bring nothing back.
    package var version: ContentVersion

    /// What was acknowledged.
    package var digest: Digest

    package init(version: ContentVersion, digest: Digest) { (self.version, self.digest) = (version, digest) }
}
