internal import TransferHTTP

/// The bytes of an object to be stored, which can be read more than once, because a request may have to be repeated.
/// They are never copied as a whole.
///
/// It is used for one call of `put`, on one thread.
package struct ObjectContent {
    /// The place where the bytes are.
    package enum Source {
        /// Buffers one after the other.
        case arrays([[UInt8]])

        /// Memory of the caller, one buffer after the other, which must stay valid and unchanged until `put` returns.
        case buffers([UnsafeRawBufferPointer])

        /// Reads bytes from an offset, such as by pread(2), and returns how many, at least one unless the content ends.
        case pieces((_ offset: UInt64, _ space: UnsafeMutableRawBufferPointer) throws(ObjectError) -> Int)
    }

    /// Number of bytes of the content.
    package let size: UInt64

    /// The digest of the content.
    package let sha256: SHA256Digest

    package let metadata: ObjectMetadata

    let source: Source

    /// Bytes of a piece that is read from a `pieces` source at once: large compared with the cost of a system call, and
    /// small enough for the processor's cache.
    static let pieceSize = 256 << 10

    /// - Parameter sha256: the digest if the caller has it; otherwise it is computed here, which reads the content once.
    /// - Throws: `damaged` if the source has fewer bytes than `size`, and errors of the source.
    package init(
        size: UInt64, sha256: SHA256Digest? = nil, metadata: ObjectMetadata = ObjectMetadata(), from source: Source
    ) throws(ObjectError) {
        (self.size, self.metadata, self.source) = (size, metadata, source)
        if let sha256 {
            self.sha256 = sha256
        } else {
            var hasher = DigestHasher(.sha256)
            try Self.read(source, size) { hasher.update($0) }
            self.sha256 = SHA256Digest(hasher)
        }
    }

    /// Makes content of arrays, one after the other.
    package init(
        _ arrays: [[UInt8]], sha256: SHA256Digest? = nil, metadata: ObjectMetadata = ObjectMetadata()
    ) throws(ObjectError) {
        let size = arrays.reduce(UInt64(0)) { $0 &+ UInt64($1.count) }
        try self.init(size: size, sha256: sha256, metadata: metadata, from: .arrays(arrays))
    }

    /// All bytes, for stores that keep objects in memory.
    package func bytes() throws(ObjectError) -> [UInt8] {
        var bytes: [UInt8] = []
        try Self.read(source, size) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// The digest for Content-MD5, which is computed only for engines that verify no other one.
    func md5() throws(ObjectError) -> [UInt8] {
        var hasher = DigestHasher(.md5)
        try Self.read(source, size) { hasher.update($0) }
        return hasher.finish()
    }

    private static func read(
        _ source: Source, _ size: UInt64, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(ObjectError) {
        var reader = ContentReader(source, size: size)
        while try reader.next(
            atMost: .max,
            { (bytes) throws(ObjectError) in
                body(bytes)
                return bytes.count
            })
        {}
    }
}

/// Goes through content from its start, in pieces that are consumed wholly or in part.
struct ContentReader {
    private let source: ObjectContent.Source
    private let size: UInt64
    /// Number of bytes consumed so far.
    private(set) var position: UInt64 = 0
    /// For arrays and buffers, the present one and the offset in it.
    private var index = 0
    private var offset = 0
    /// For pieces, the bytes that were read and not consumed.
    private var piece: [UInt8] = []
    private var unread = 0..<0

    init(_ source: ObjectContent.Source, size: UInt64) { (self.source, self.size) = (source, size) }

    var isAtEnd: Bool { position >= size }

    /// Offers the next bytes.
    ///
    /// - Parameter body: returns how many of the bytes it has consumed; it is offered the others again.
    /// - Returns: false at the end of the content; then `body` was not called.
    /// - Throws: `damaged` if the source ends too early; errors of the source and of `body`.
    mutating func next(
        atMost limit: Int, _ body: (UnsafeRawBufferPointer) throws(ObjectError) -> Int
    ) throws(ObjectError) -> Bool {
        guard !isAtEnd else { return false }
        let most = min(limit, Int(clamping: size - position))
        switch source {
        case .arrays(let arrays):
            while index < arrays.count, offset >= arrays[index].count { (index, offset) = (index + 1, 0) }
            guard index < arrays.count else { throw Self.tooShort }
            let array = arrays[index]
            let start = offset
            let count = try array.span.bytes.withUnsafeBytes { (bytes) throws(ObjectError) in
                try Self.offer(bytes, from: start, most, body)
            }
            consume(count)
        case .buffers(let buffers):
            while index < buffers.count, offset >= buffers[index].count { (index, offset) = (index + 1, 0) }
            guard index < buffers.count else { throw Self.tooShort }
            consume(try Self.offer(buffers[index], from: offset, most, body))
        case .pieces(let read):
            if unread.isEmpty { try fill(read) }
            let count = try piece.span.bytes.withUnsafeBytes { (bytes) throws(ObjectError) in
                try Self.offer(
                    UnsafeRawBufferPointer(rebasing: bytes[..<unread.upperBound]), from: unread.lowerBound, most, body)
            }
            unread = unread.lowerBound + count..<unread.upperBound
            position += UInt64(count)
        }
        return true
    }

    private mutating func consume(_ count: Int) {
        offset += count
        position += UInt64(count)
    }

    private mutating func fill(
        _ read: (UInt64, UnsafeMutableRawBufferPointer) throws(ObjectError) -> Int
    ) throws(ObjectError) {
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: ObjectContent.pieceSize) }
        let wanted = Int(clamping: min(UInt64(piece.count), size - position))
        let place = position
        let count = try piece.withSpace { (space) throws(ObjectError) in
            try read(place, UnsafeMutableRawBufferPointer(rebasing: space[..<wanted]))
        }
        guard (1...wanted).contains(count) else { throw Self.tooShort }
        unread = 0..<count
    }

    private static func offer(
        _ bytes: UnsafeRawBufferPointer, from offset: Int, _ most: Int,
        _ body: (UnsafeRawBufferPointer) throws(ObjectError) -> Int
    ) throws(ObjectError) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...].prefix(most))
        return min(rest.count, max(0, try body(rest)))
    }

    private static let tooShort = ObjectError(
        .damaged, "The content of an object has fewer bytes than announced; it was changed while it was read.")
}

extension [UInt8] {
    /// The memory of the array, like `withUnsafeMutableBytes`, which loses the type of errors.
    mutating func withSpace<Value>(
        _ body: (UnsafeMutableRawBufferPointer) throws(ObjectError) -> Value
    ) throws(ObjectError) -> Value {
        let result: Result<Value, ObjectError> = withUnsafeMutableBytes { space in
            do throws(ObjectError) {
                return .success(try body(space))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// The user's metadata of an object: texts under names, in the order of the names.
package struct ObjectMetadata: Equatable, Sendable {
    /// Most bytes of names and values together, as S3 permits ("Working with object metadata": 2 KB).
    package static let largest = 2048

    /// The name of the field in front of each name in a request.
    static let fieldPrefix = "x-amz-meta-"

    /// Values by name, as they were given.
    package let values: [String: String]

    /// Makes metadata without any name.
    package init() { values = [:] }

    /// Checks metadata. Names have lower-case letters, digits and hyphens, because engines change the case of others.
    /// Values may be any text, and are percent-encoded on the way.
    ///
    /// - Returns: nil for other names, and for metadata that has too many bytes.
    package init?(_ values: [String: String]) {
        self.values = values
        guard values.keys.allSatisfy(Self.isName) else { return nil }
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard size <= Self.largest else { return nil }
    }

    /// Reads the metadata from the fields of an answer. Fields of other programs that this type could not write are
    /// left out.
    init(_ fields: HTTPFields) {
        var values: [String: String] = [:]
        for field in fields.lines where field.name.utf8.starts(with: Self.fieldPrefix.utf8) {
            let name = String(Substring(field.name.utf8.dropFirst(Self.fieldPrefix.utf8.count)))
            guard Self.isName(name), let bytes = PercentEncoding.decoded(field.value),
                let value = String(validating: bytes, as: UTF8.self)
            else { continue }
            values[name] = value
        }
        self.values = values
    }

    /// The fields of a request, in the order of their names.
    var fields: [(name: String, value: String)] {
        values.map { (Self.fieldPrefix + $0.key, PercentEncoding.component($0.value.utf8)) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
