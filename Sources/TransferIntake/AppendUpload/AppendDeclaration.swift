import TransferModel
import TransferStore

/// What is said of an append upload when it is begun, as it is kept beside its bytes: a later server goes on from it.
///
/// In network byte order: the form's version (1), the conflict policy, the kind, flags (1: a total, 2: a time of modification,
/// 4: permissions), the moment of its beginning, the total, the time (seconds, nanoseconds), the permissions, and with 4 bytes
/// of length before each the path and the note.
package struct AppendDeclaration: Equatable, Sendable {
    /// As its sender names it.
    var path: String
    var conflict: ConflictPolicy
    var kind: ContentKind
    var total: UInt64?
    var modified: Timestamp?
    var permissions: UInt16?
    /// UTC, in nanoseconds since 1970.
    var begun: Int64
    /// The front end's.
    var note: [UInt8]

    private static let version: UInt8 = 1

    /// Bytes before the path.
    private static let fixed = 4 + 8 + 8 + 8 + 4 + 2

    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version, conflict.rawValue, kind.rawValue]
        bytes.append((total == nil ? 0 : 1) | (modified == nil ? 0 : 2) | (permissions == nil ? 0 : 4))
        bytes.append(bigEndian: begun)
        bytes.append(bigEndian: total ?? 0)
        bytes.append(bigEndian: modified?.seconds ?? 0)
        bytes.append(bigEndian: modified?.nanoseconds ?? 0)
        bytes.append(bigEndian: permissions ?? 0)
        for field in [Array(path.utf8), note] {
            bytes.append(bigEndian: UInt32(clamping: field.count))
            bytes += field
        }
        return bytes
    }

    init(_ intent: UploadIntent, _ append: UploadAppend, begun: Int64) {
        (path, conflict, kind, total) = (intent.path, intent.conflict, intent.kind, append.total)
        (modified, permissions, note) = (intent.modified, intent.permissions, append.note)
        self.begun = begun
    }

    /// - Returns: nothing for what no server of this kind has written.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixed, bytes[0] == Self.version, let conflict = ConflictPolicy(rawValue: bytes[1]),
            let kind = ContentKind(rawValue: bytes[2])
        else { return nil }
        let span = bytes.span.bytes
        let nanoseconds = span.bigEndian(at: 28, as: UInt32.self)
        guard nanoseconds < 1_000_000_000 else { return nil }
        let flags = bytes[3]
        begun = span.bigEndian(at: 4, as: Int64.self)
        total = flags & 1 == 0 ? nil : span.bigEndian(at: 12, as: UInt64.self)
        modified =
            flags & 2 == 0
            ? nil : Timestamp(seconds: span.bigEndian(at: 20, as: Int64.self), nanoseconds: nanoseconds)
        permissions = flags & 4 == 0 ? nil : span.bigEndian(at: 32, as: UInt16.self)
        (self.conflict, self.kind) = (conflict, kind)
        var rest = bytes[Self.fixed...]
        guard let path = Self.field(&rest), let note = Self.field(&rest), rest.isEmpty,
            let text = String(validating: path, as: UTF8.self)
        else { return nil }
        (self.path, self.note) = (text, note)
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.count >= 4 else { return nil }
        let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard rest.count - 4 >= size else { return nil }
        defer { rest = rest.dropFirst(4 + size) }
        return Array(rest.dropFirst(4).prefix(size))
    }
}

extension Caller {
    /// Where what was declared so goes.
    ///
    /// - Returns: nothing where it would go nowhere.
    /// - Throws: `forbidden` for a client that may not send now; `invalidPath`.
    func target(of declaration: [UInt8]) throws(Failure) -> UploadTarget? {
        guard let declared = AppendDeclaration(declaration) else { return nil }
        let place = try pathForUpload(declared.path)
        return (try? RelativePath(place)).map { ($0, declared.conflict) }
    }
}
