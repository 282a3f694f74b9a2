package import TransferModel
package import TransferObjects
package import TransferPorts

/// What an object says about its content, behind the content: enough to make the database again from the bucket alone
/// (`CatalogRebuild`), as far as uploads are concerned.
///
/// Every object has one, because the last bytes of an object without a footer would be those of a client, who could
/// write a footer there.
///
///     content │ body │ digest of body and trailer (16) │ length of the body (4) │ version (2) │ magic number (8)
package struct ObjectFooter: Equatable, Sendable {
    /// Some bytes of one upload, which are all that a segment contains. They become content when a file is described
    /// that has them.
    package struct Segment: Equatable, Sendable {
        package let upload: UploadID

        /// The place of the first byte in the upload.
        package let offset: UInt64

        package init(of upload: UploadID, at offset: UInt64) { (self.upload, self.offset) = (upload, offset) }
    }

    /// Bytes that were copied here from an object that may be gone by now. Descriptions in other objects may still name
    /// that object.
    package struct Moved: Equatable, Sendable {
        package let from: ObjectNumber

        /// The place of the first byte in the other object.
        package let start: UInt64

        /// The place of the bytes in this object.
        package let place: Range<UInt64>

        package init(_ from: ObjectNumber, from start: UInt64, to place: Range<UInt64>) {
            (self.from, self.start, self.place) = (from, start, place)
        }
    }

    package var segment: Segment?
    package var files: [DescribedFile] = []
    package var moved: [Moved] = []

    package init() {}

    package init(_ segment: Segment) { self.segment = segment }

    /// Bytes of everything behind the body.
    package static let trailerSize = 16 + 4 + 2 + 8

    /// The most bytes of a body. The description of a file has some eight bytes for each segment, so this is enough for
    /// files of 2 PiB.
    package static let mostBytes = 1 << 30

    /// The last bytes of every footer: "TrFooter" in ASCII.
    static let magic: UInt64 = 0x5472_466F_6F74_6572

    static let version: UInt16 = 1
}

/// A file as its upload has published it: what was asked for, and where the bytes are. Whether and under which name it
/// was stored is decided later, by the database.
package struct DescribedFile: Equatable, Sendable {
    package let id: UploadID
    package var path: String
    package let size: UInt64
    package let digest: Digest
    package var conflict = ConflictPolicy.keepBoth
    package var origin = UploadOrigin()
    package var modified: Timestamp?
    package var permissions: UInt16?
    package var keepsPermissions = false
    package var attributes: ExtraAttributes?

    /// When the upload was published, by the server's clock: UTC, in nanoseconds since 1970.
    package var moment: Int64 = 0

    /// Where the bytes are that are not in holes, in order. `ObjectNumber.none` stands for the object that has the
    /// footer.
    package var extents: [Extent]

    package init(id: UploadID, path: String, size: UInt64, digest: Digest, _ extents: [Extent]) {
        (self.id, self.path, self.size, self.digest, self.extents) = (id, path, size, digest, extents)
    }

    /// - Parameters:
    ///   - moment: UTC, in nanoseconds since 1970.
    ///   - extents: those in other objects.
    init(_ publication: Publication, at moment: Int64, _ extents: [Extent]) {
        self.init(
            id: publication.id, path: publication.path.string, size: publication.size, digest: publication.digest,
            extents)
        (conflict, origin, modified) = (publication.conflict, publication.origin, publication.modified)
        (permissions, keepsPermissions) = (publication.permissions, publication.keepsPermissions)
        (attributes, self.moment) = (publication.attributes, moment)
    }

    /// Whether this is the same file, wherever its bytes are.
    package func isSame(as other: DescribedFile) -> Bool {
        var moved = other
        moved.extents = extents
        return self == moved
    }

    /// An upper bound of the bytes that the description of a short file has in a footer.
    var mostBytes: Int {
        Self.mostFixed + path.utf8.count + origin.sender.utf8.count + (attributes?.encodedSize ?? 0)
    }

    private static let mostFixed = 160
}

extension DescribedFile {
    /// Compares the path and the sender by their bytes, as file systems do.
    package static func == (a: Self, b: Self) -> Bool {
        a.id == b.id && a.path.hasSameBytes(as: b.path) && a.size == b.size && a.digest == b.digest
            && a.conflict == b.conflict && a.origin == b.origin && a.origin.sender.hasSameBytes(as: b.origin.sender)
            && a.modified == b.modified && a.permissions == b.permissions && a.keepsPermissions == b.keepsPermissions
            && a.attributes == b.attributes && a.moment == b.moment && a.extents == b.extents
    }
}

// MARK: Reading from a bucket

extension ObjectFooter {
    /// Bytes that are read first: enough for most footers, and as fast as fewer bytes.
    private static let firstRead: UInt64 = 16 << 10

    /// Reads the footer of an object.
    ///
    /// - Parameter size: bytes of the object.
    /// - Returns: the footer, and the bytes of content in front of it; nil for an object without a footer that this
    ///   program knows.
    package static func read(
        _ key: ObjectKey, size: UInt64, in bucket: any ObjectStore
    ) throws(ObjectError) -> (footer: ObjectFooter, content: UInt64)? {
        let tail = try bytes(size - min(size, firstRead)..<size, of: key, in: bucket)
        guard let body = bodySize(tail), let length = UInt64(exactly: body + trailerSize), length <= size else {
            return nil
        }
        var encoded = tail
        if length > UInt64(tail.count) {
            encoded = try bytes(size - length..<size - UInt64(tail.count), of: key, in: bucket) + tail
        }
        return ObjectFooter(encoded: encoded.suffix(body + trailerSize), content: size - length)
            .map { ($0, size - length) }
    }

    private static func bytes(
        _ range: Range<UInt64>, of key: ObjectKey, in bucket: any ObjectStore
    ) throws(ObjectError) -> [UInt8] {
        // Trap: the range has at most `mostBytes`.
        let count = Int(range.upperBound - range.lowerBound)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { buffer.deallocate() }
        try bucket.get(key, range, into: buffer)
        return Array(buffer)
    }
}
