package import TransferModel
package import TransferPorts

/// A file, folder or symbolic link, with its one name.
///
/// The content of a file never changes: other content under the same path is another node.
package struct NodeRow: Equatable, Sendable {
    package enum Form: Equatable, Sendable {
        case file(FileRow)
        case folder
        /// The target of a symbolic link.
        case link([UInt8])
    }

    /// The number of the folder that has all other nodes below it. It has no name and no row.
    package static let top: UInt64 = 1

    package let number: UInt64

    /// The number of the folder that contains it.
    package var folder: UInt64

    package var name: PathKey
    package var form: Form

    /// A number that grows with every change of the node (`ContentVersion.touch`).
    package var touch: Int64

    package var modified: Timestamp

    /// Whether a client has set the time of modification.
    package var hasGivenTime: Bool

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16

    package var extra: ExtraAttributes

    package init(
        number: UInt64, folder: UInt64, name: PathKey, form: Form, touch: Int64, modified: Timestamp,
        hasGivenTime: Bool = false, permissions: UInt16, extra: ExtraAttributes = ExtraAttributes()
    ) {
        (self.number, self.folder, self.name, self.form) = (number, folder, name, form)
        (self.touch, self.modified, self.hasGivenTime) = (touch, modified, hasGivenTime)
        (self.permissions, self.extra) = (permissions, extra)
    }

    package var file: FileRow? { if case .file(let file) = form { file } else { nil } }

    package var isFolder: Bool { form == .folder }

    /// The target of a symbolic link; nil for a file or folder.
    package var target: [UInt8]? { if case .link(let target) = form { target } else { nil } }

    /// The revision is the time of modification, in nanoseconds since 1970: clients see another version if it is set.
    package var version: ContentVersion {
        ContentVersion(
            object: number, revision: modified.seconds &* 1_000_000_000 &+ Int64(modified.nanoseconds), touch: touch,
            size: file?.size ?? 0)
    }

    /// The version of a file; nil for a folder or link.
    package var fileVersion: ContentVersion? { file == nil ? nil : version }
}

/// What a node that is a file has besides the attributes of all nodes.
package struct FileRow: Equatable, Sendable {
    package let size: UInt64

    /// The digest of the content, as it was computed when the content arrived.
    package let digest: Digest

    package var content: StoredBytes

    /// The command of a client that has stored or moved the file last (`StoringCommand.id`); nil if it is not known.
    package var command: UInt64?

    /// Whether the content was found to differ from its digest (`ClusterLedger.mark`).
    package var isRotten = false

    package init(size: UInt64, digest: Digest, content: StoredBytes, command: UInt64? = nil) {
        (self.size, self.digest, self.content, self.command) = (size, digest, content, command)
    }
}

/// Where the bytes of a file are.
package enum StoredBytes: Equatable, Sendable {
    /// All bytes are in one object, from this offset on, and the object's footer describes the file. An empty file may
    /// have `ObjectNumber.none`.
    case whole(ObjectNumber, at: UInt64)
    /// The bytes are in several objects, or the file has holes: `ClusterLedger.extents(of:)` returns the extents.
    ///
    /// - Parameters:
    ///   - filled: bytes that are not in holes.
    ///   - described: the object whose footer describes the file (`ObjectFooter`); `ObjectNumber.none` for no object.
    case extents(filled: UInt64, described: ObjectNumber = .none)
}

/// Some consecutive bytes of a file or of an unfinished upload, and the object that has them.
package struct Extent: Equatable, Sendable {
    /// The place of the bytes in the file.
    package let range: Range<UInt64>

    package let object: ObjectNumber

    /// The offset of the first byte in the object.
    package let start: UInt64

    package init(_ range: Range<UInt64>, in object: ObjectNumber, from start: UInt64) {
        (self.range, self.object, self.start) = (range, object, start)
    }

    package var count: UInt64 { range.upperBound - range.lowerBound }

    /// The extent without the bytes outside of a range; nil if it has none in the range.
    package func clamped(to bounds: Range<UInt64>) -> Extent? {
        let kept = range.clamped(to: bounds)
        guard !kept.isEmpty else { return nil }
        return Extent(kept, in: object, from: start + (kept.lowerBound - range.lowerBound))
    }

    /// The extent as a part of a longer file.
    package func moved(by offset: UInt64) -> Extent {
        Extent(range.lowerBound + offset..<range.upperBound + offset, in: object, from: start)
    }
}

/// Identifies an object in the bucket: the number of an epoch, and a serial number in that epoch.
package struct ObjectNumber: Hashable, Comparable, Sendable {
    /// Bits of the serial number: an epoch has room for 16 million numbers, which a server does not use up in the hour
    /// for which it uses an epoch.
    private static let serialBits: UInt64 = 24

    /// The most serial numbers of an epoch.
    package static let mostSerials: UInt64 = 1 << serialBits

    /// The number of an empty file's object, which is not there.
    package static let none = ObjectNumber(rawValue: 0)

    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - epoch: at most `EpochRow.greatest`.
    ///   - serial: below `mostSerials`.
    package init(epoch: UInt64, serial: UInt64) {
        rawValue = epoch << Self.serialBits | serial & (Self.mostSerials - 1)
    }

    package var epoch: UInt64 { rawValue >> Self.serialBits }

    package static func < (a: ObjectNumber, b: ObjectNumber) -> Bool { a.rawValue < b.rawValue }
}

/// An object of the bucket that some content is in.
package struct ObjectRow: Equatable, Sendable {
    package let number: ObjectNumber

    /// The live bytes of the object if all files are there that it was made for. Its footer does not count.
    package let size: UInt64

    /// Bytes that extents refer to; those of an extent count for each file that has it. A file without bytes here that is
    /// described here counts as one byte, so that the description stays as long as the file. At 0, the object is deleted
    /// later.
    package var live: UInt64

    package init(_ number: ObjectNumber, size: UInt64, live: UInt64) {
        (self.number, self.size, self.live) = (number, size, live)
    }
}

/// A time for which one server names its objects and nodes. Commits need an open epoch. When the sweeper has closed an
/// epoch, no more rows can refer to objects of the epoch that have no row yet, so such objects can be deleted.
package struct EpochRow: Equatable, Sendable {
    package enum State: Int16, Sendable {
        case open = 1
        /// Commits that need it are refused; its unused objects are to be deleted.
        case closed = 2
        case swept = 3
    }

    /// The greatest number, so that numbers of objects are positive 64-bit integers.
    package static let greatest: UInt64 = 1 << 39 - 1

    /// A random number, from 1 to `greatest`: a database that was restored from a backup does not give out numbers
    /// again that newer objects have.
    package let number: UInt64

    /// The prefix of the keys that objects of the epoch have.
    package let key: String

    /// The name of the server that has opened it.
    package let server: String

    /// When it was opened, by the database's clock; UTC, in nanoseconds since 1970.
    package let opened: Int64

    package var state: State

    package init(number: UInt64, key: String, server: String, opened: Int64, state: State = .open) {
        (self.number, self.key, self.server, self.opened, self.state) = (number, key, server, opened, state)
    }
}

/// An unfinished upload whose parts can arrive at any server.
package struct OpenUploadRow: Equatable, Sendable {
    package let id: UploadID

    /// The epoch of the recorded parts, as in `PartRecords`.
    package var epoch: UInt64

    /// Bytes of room that it takes: the declared size, or those that have arrived.
    package var reserved: UInt64

    /// When something was last added, by the database's clock; UTC, in nanoseconds since 1970.
    package var written: Int64

    /// The state of an append upload; nil for a multipart upload.
    package var append: Append?

    package struct Append: Equatable, Sendable {
        package let declaration: [UInt8]
        package var kept: AppendMark

        package init(declaration: [UInt8], kept: AppendMark) { (self.declaration, self.kept) = (declaration, kept) }
    }

    package init(id: UploadID, epoch: UInt64, reserved: UInt64, written: Int64, append: Append? = nil) {
        (self.id, self.epoch, self.reserved, self.written, self.append) = (id, epoch, reserved, written, append)
    }
}

/// Verified bytes of an unfinished upload, and where they are.
package struct PartRow: Equatable, Sendable {
    package let part: RecordedPart

    /// The extents of the part, with ranges of the upload; in order, without gaps except for holes.
    package let extents: [Extent]

    package init(_ part: RecordedPart, _ extents: [Extent]) { (self.part, self.extents) = (part, extents) }

    /// The part without some bytes.
    package func without(_ taken: Range<UInt64>) -> [PartRow] {
        part.without(taken).map { kept in PartRow(kept, extents.compactMap { $0.clamped(to: kept.range) }) }
    }
}

/// An acknowledged upload and the node that has its content.
package struct EntryRow: Equatable, Sendable {
    package let entry: CatalogEntry

    /// The number of the file; its path may be another one by now.
    package let node: UInt64

    package init(_ entry: CatalogEntry, node: UInt64) { (self.entry, self.node) = (entry, node) }
}

/// An access list of the cluster.
package struct AccessListRow: Equatable, Sendable {
    package let name: String

    /// The lines, as in the files of a directory's access lists.
    package let content: [UInt8]

    /// A number that grows by one with each change; 0 for a list that was never written.
    package let revision: Int64

    package init(_ name: String, _ content: [UInt8], revision: Int64) {
        (self.name, self.content, self.revision) = (name, content, revision)
    }
}
