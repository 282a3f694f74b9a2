import Glibc
package import TransferModel
package import TransferSystem

/// A picture to look at: its content and what identifies it.
package struct StoredPicture: Sendable {
    package let key: PictureKey
    /// The content, open for reading.
    let file: DescriptorChannel.Passed
    /// Bytes that the file has.
    let size: Int
    /// The state of the file when its key was found out; nil if it cannot be examined.
    private let state: FileState?

    /// - Parameter key: of the content that the file has now.
    package init(_ key: PictureKey, _ file: DescriptorChannel.Passed, size: Int) {
        (self.key, self.file, self.size) = (key, file, size)
        state = FileState(file.number)
    }

    /// Whether the content is still that of the key, as far as the file's times tell.
    var isUnchanged: Bool { state != nil && state == FileState(file.number) }
}

/// Identifies the content of a file, so that what was found out about it is found again.
///
/// The digest counts only if no client can make other content with it; thumbnails then survive every change of a file's names and
/// copies. Otherwise a client could get the thumbnail of a file that it may not read, by storing one with the same digest, so the
/// version counts, which a change of names changes.
package struct PictureKey: Hashable, Sendable {
    /// A byte for the kind of the key, and the digest or version.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - digest: of the content; nil if it is not known.
    ///   - folder: that the file is in. Clients that see it see all pictures in it; others must not learn from how fast a thumbnail comes
    ///     that they have guessed what is stored elsewhere.
    package init(_ version: ContentVersion, _ digest: Digest?, in folder: RelativePath?) {
        if let digest, digest.algorithm.function == .sha256 {
            bytes = [1] + Array(digest.description.utf8) + Array((folder?.string ?? "").utf8)
        } else {
            var bytes: [UInt8] = [2]
            bytes.append(bigEndian: version.object)
            bytes.append(bigEndian: version.revision)
            bytes.append(bigEndian: version.touch)
            bytes.append(bigEndian: version.size)
            self.bytes = bytes
        }
    }
}

/// The longer sides that thumbnails have, in pixels.
package enum ThumbnailSide: Int, Sendable, CaseIterable {
    /// For a tile of a grid, also on screens with two pixels for one.
    case small = 320
    /// For a picture that fills a screen.
    case large = 1280
}

/// What changes when the content of an open file does.
struct FileState: Equatable {
    private let size: Int
    private let modified: [Int]
    private let changed: [Int]

    /// - Returns: nil if the file cannot be examined.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        size = Int(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
}
