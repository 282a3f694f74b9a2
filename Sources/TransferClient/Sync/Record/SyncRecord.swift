import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// The versions of files that a sync of a local directory and a folder on a server saw last, for the next sync of the
/// two in either direction. A file that the target still has in that version may be replaced; a file that was changed
/// since may not.
struct SyncRecord: Equatable, Sendable {
    /// Tells a changed file from an unchanged one, on either side, without its content.
    struct Version: Hashable, Sendable {
        let size: UInt64
        let modified: Timestamp

        init(size: UInt64, modified: Timestamp) { (self.size, self.modified) = (size, modified) }

        init(_ entry: SyncEntry) { self.init(size: entry.size, modified: entry.modified) }
    }

    /// The two sides of a sync. Syncs in both directions share a record.
    enum Side: Sendable {
        case server, here
    }

    /// What a sync was about to change on one side. The sync may have been stopped before it knew whether it made the
    /// change. This says nothing about the other side.
    struct Change: Equatable, Sendable {
        /// The version that this side was going to get.
        var sending: Version?
        /// The version that was going to be replaced.
        var replacing: Version?
        /// Versions that this side may have because its file was changed under another hard link: all hard links have
        /// one time.
        var shared: Set<Version> = []
    }

    /// The record of one path.
    struct Entry: Equatable, Sendable {
        /// The version that both sides had.
        var common: Version?
        /// The version that the target has kept in a conflict. As long as the source has `common`, both versions are
        /// kept and nothing is left to do.
        var settled: Version?
        private var server = Change()
        private var here = Change()

        init(common: Version? = nil, settled: Version? = nil) { (self.common, self.settled) = (common, settled) }

        subscript(side: Side) -> Change {
            get { side == .server ? server : here }
            set { if side == .server { server = newValue } else { here = newValue } }
        }

        /// Whether a sync has seen this version on one side, so that it may be replaced.
        func knows(_ there: Version, on side: Side) -> Bool {
            isShared(there, on: side)
                || self[side].replacing.map(there.isCopy) ?? false || self[side].shared.contains(where: there.isCopy)
        }

        /// Whether the other side, too, has had this version.
        func isShared(_ there: Version, on side: Side) -> Bool {
            [common, self[side].sending].contains { $0.map(there.isCopy) ?? false }
        }
    }

    var entries: [RelativePath: Entry] = [:]

    subscript(path: RelativePath) -> Entry? { entries[path] }
}

extension SyncRecord.Version {
    /// Whether this is the original version as another file system stores it: many store times in larger units than
    /// nanoseconds.
    func isCopy(of original: Self) -> Bool {
        guard size == original.size else { return false }
        if modified == original.modified { return true }
        // FAT stores times in units of two seconds, HFS+ and ext3 of one second, exFAT of 10 ms, NTFS of 100 ns, and
        // others of micro- or milliseconds.
        let units: [UInt32] = [100, 1000, 1_000_000, 10_000_000, 1_000_000_000]
        let isCut = units.contains { unit in
            modified
                == Timestamp(
                    seconds: original.modified.seconds,
                    nanoseconds: original.modified.nanoseconds - original.modified.nanoseconds % unit)
        }
        return isCut || modified == Timestamp(seconds: original.modified.seconds & ~1, nanoseconds: 0)
    }
}

// MARK: As bytes

extension SyncRecord {
    private static let head = Array("transfer sync record 2\n".utf8)
    /// The head of an older format, in which one byte of each entry says which versions the entry has.
    private static let formerHead = Array("transfer sync record 1\n".utf8)
    private static let digestSize = DigestFunction.xxh128.size

    private struct Parts: OptionSet {
        let rawValue: UInt16
        static let common = Parts(rawValue: 1)
        static let settled = Parts(rawValue: 4)
    }

    /// The bits that mark the versions of one side. An older program wrote a version under bit 2 without its side; the
    /// reader skips it.
    private static var changes: [(bit: UInt16, side: Side, version: WritableKeyPath<Change, Version?>)] {
        [
            (8, .server, \.sending), (16, .server, \.replacing), (32, .here, \.sending), (64, .here, \.replacing),
        ]
    }
    private static let sharedBits: [(bit: UInt16, side: Side)] = [(128, .server), (256, .here)]
    private static let formerBit: UInt16 = 2

    /// - Returns: nil if the bytes are not a complete record.
    init?(_ bytes: [UInt8]) {
        let count = bytes.count - Self.digestSize
        let isFormer = bytes.starts(with: Self.formerHead)
        guard count >= Self.head.count, isFormer || bytes.starts(with: Self.head) else { return nil }
        let entries = bytes.withUnsafeBytes { all -> [RelativePath: Entry]? in
            let body = UnsafeRawBufferPointer(rebasing: all[..<count])
            guard BlockHasher.digest(.xxh128, body).elementsEqual(all[count...]) else { return nil }
            return try? Self.read(UnsafeRawBufferPointer(rebasing: body[Self.head.count...]), isFormer: isFormer)
        }
        guard let entries else { return nil }
        self.entries = entries
    }

    private static func read(_ bytes: UnsafeRawBufferPointer, isFormer: Bool) throws -> [RelativePath: Entry] {
        var reader = BodyReader(bytes)
        var entries: [RelativePath: Entry] = [:]
        for _ in 0..<(try reader.integer(UInt64.self)) {
            let path = try RelativePath(String(decoding: try reader.sizedArray(), as: UTF8.self))
            let parts = Parts(
                rawValue: try isFormer ? UInt16(reader.integer(UInt8.self)) : reader.integer(UInt16.self))
            var entry = Entry()
            if parts.contains(.common) { entry.common = try Version(&reader) }
            if parts.rawValue & formerBit != 0 { _ = try Version(&reader) }
            if parts.contains(.settled) { entry.settled = try Version(&reader) }
            for (bit, side, version) in changes where parts.rawValue & bit != 0 {
                entry[side][keyPath: version] = try Version(&reader)
            }
            for (bit, side) in sharedBits where parts.rawValue & bit != 0 {
                for _ in 0..<(try reader.integer(UInt32.self)) { entry[side].shared.insert(try Version(&reader)) }
            }
            entries[path] = entry
        }
        return entries
    }

    var bytes: [UInt8] {
        var bytes = Self.head
        bytes.reserveCapacity(bytes.count + entries.count * 80)
        bytes.append(bigEndian: UInt64(entries.count))
        for (path, entry) in entries {
            bytes.append(bigEndian: UInt16(clamping: path.string.utf8.count))
            bytes += path.string.utf8
            var parts: Parts = []
            if entry.common != nil { parts.insert(.common) }
            if entry.settled != nil { parts.insert(.settled) }
            let changes = Self.changes.map { (bit: $0.bit, version: entry[$0.side][keyPath: $0.version]) }
            let shared = Self.sharedBits.map { (bit: $0.bit, versions: entry[$0.side].shared) }
                .filter { !$0.versions.isEmpty }
            let bits = changes.reduce(UInt16(0)) { $1.version == nil ? $0 : $0 | $1.bit }
            bytes.append(bigEndian: shared.reduce(parts.rawValue | bits) { $0 | $1.bit })
            for case let version? in [entry.common, entry.settled] + changes.map(\.version) {
                version.append(to: &bytes)
            }
            for (_, versions) in shared {
                bytes.append(bigEndian: UInt32(versions.count))
                for version in versions { version.append(to: &bytes) }
            }
        }
        return bytes + bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
    }
}

extension SyncRecord.Version {
    fileprivate func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: modified.seconds)
        bytes.append(bigEndian: modified.nanoseconds)
    }

    fileprivate init(_ reader: inout BodyReader) throws(ProtocolFault) {
        let size = try reader.integer(UInt64.self)
        let (seconds, nanoseconds) = (try reader.integer(Int64.self), try reader.integer(UInt32.self))
        self.init(size: size, modified: Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }
}

/// The file with the record of a local directory and a folder on a server.
struct SyncRecordFile: Sendable {
    private let path: String
    private let states: StateFolder

    /// The most bytes of a record, enough for some three million files: a longer file is ignored.
    private static let mostBytes = 256 << 20

    /// - Parameters:
    ///   - folder: the folder with this user's records.
    ///   - directory: the local directory.
    init(in folder: String, _ directory: String, _ server: ServerAddress) {
        states = StateFolder(path: folder)
        path = states.file("sync", [directory.absolutePath, server.server, server.folder])
    }

    /// The age in seconds, a year, after which a record is removed if no sync has written it since.
    private static let age: Int64 = 366 * 86_400

    /// - Returns: nil if there is no readable record. Then a sync compares times of files.
    func read() -> SyncRecord? {
        states.sweep(keeping: Self.age)
        guard let file = try? OwnFile(reading: path, atMost: Self.mostBytes), !file.isLonger else { return nil }
        return SyncRecord(file.content)
    }

    /// Replaces the record. The new record can be lost in a power cut.
    func write(_ record: SyncRecord) throws(SystemError) {
        _ = try StateFolder.write(record.bytes, to: path, replaces: true)
    }
}
