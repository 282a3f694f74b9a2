import TransferCodec
package import TransferModel
import TransferPorts

/// The form of a footer's body. Numbers have seven bits in each byte, the lowest first, and the highest bit of a byte
/// says that another one follows; signed numbers have their sign in the lowest bit. Texts and lists begin with their
/// length. Clients are in a table, and paths and times are differences from those of the file before, so that a small
/// file takes some 65 bytes.
extension ObjectFooter {
    /// Which optional fields a described file has.
    struct Presence: OptionSet {
        let rawValue: UInt8
        static let modified = Presence(rawValue: 1)
        static let permissions = Presence(rawValue: 2)
        static let keepsPermissions = Presence(rawValue: 4)
        static let attributes = Presence(rawValue: 8)
        /// The extents are written: they are not simply behind those of the file before.
        static let extents = Presence(rawValue: 16)
        static let all: Presence = [.modified, .permissions, .keepsPermissions, .attributes, .extents]
    }

    /// Which optional fields a client has.
    struct OriginPresence: OptionSet {
        let rawValue: UInt8
        static let client = OriginPresence(rawValue: 1)
        static let run = OriginPresence(rawValue: 2)
        static let all: OriginPresence = [.client, .run]
    }

    /// What the next described file is written as a difference from.
    struct Previous {
        var path: [UInt8] = []
        var moment: Int64 = 0
        var modified: Int64 = 0
        var object: UInt64 = 0
        /// The end of the bytes in this object that files have had so far.
        var end: UInt64 = 0

        /// The extents of a file that is simply behind the others; nil if it would be behind all numbers.
        func usual(_ size: UInt64) -> [Extent]? {
            guard size > 0 else { return [] }
            return end.addingReportingOverflow(size).overflow ? nil : [Extent(0..<size, in: .none, from: end)]
        }

        mutating func note(_ extents: [Extent]) {
            for extent in extents where extent.object == .none {
                let (last, overflow) = extent.start.addingReportingOverflow(extent.count)
                end = max(end, overflow ? .max : last)
            }
        }
    }

    /// Reads a footer with its trailer.
    ///
    /// - Parameter content: bytes of the object in front of the footer.
    /// - Returns: nil for bytes that `encoded` does not make.
    package init?(encoded bytes: some BidirectionalCollection<UInt8>, content: UInt64) {
        let bytes = Array(bytes)
        guard let count = Self.bodySize(bytes), count + Self.trailerSize == bytes.count,
            bytes.count >= Self.trailerSize,
            Array(bytes[count..<count + 16]) == Self.digest(bytes[..<count] + bytes[(count + 16)...])
        else { return nil }
        var reader = FooterReader(bytes[..<count])
        do throws(FooterReader.Fault) {
            try self.init(from: &reader, content: content)
            try reader.require(reader.isAtEnd)
        } catch {
            return nil
        }
    }

    /// The length of the body in front of a trailer, at the end of some bytes; nil if they do not end with a trailer of
    /// this version.
    static func bodySize(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= trailerSize else { return nil }
        let span = bytes.span.bytes
        let start = bytes.count - trailerSize + 16
        guard span.bigEndian(at: start + 6, as: UInt64.self) == magic,
            span.bigEndian(at: start + 4, as: UInt16.self) == version
        else { return nil }
        let count = Int(span.bigEndian(at: start, as: UInt32.self))
        return count <= mostBytes ? count : nil
    }

    private static func digest(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        Array(bytes).span.bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
    }

    /// The footer with its trailer.
    ///
    /// - Throws: `uploadTooLarge` if the body would have more than `mostBytes`.
    package func encoded() throws(Failure) -> [UInt8] {
        var body: [UInt8] = []
        body.append(segment == nil ? 0 : 1)
        if let segment {
            segment.upload.encode(into: &body)
            body.append(number: segment.offset)
        }
        let origins = files.map { Origin($0.origin) }
        var table: [Origin: Int] = [:]
        var order: [Origin] = []
        for origin in origins where table[origin] == nil {
            table[origin] = order.count
            order.append(origin)
        }
        body.append(number: UInt64(order.count))
        for origin in order { origin.encode(into: &body) }
        body.append(number: UInt64(files.count))
        var previous = Previous()
        for (file, origin) in zip(files, origins) {
            file.encode(into: &body, origin: table[origin] ?? 0, behind: &previous)
        }
        body.append(number: UInt64(moved.count))
        for bytes in moved {
            for number in [bytes.from.rawValue, bytes.start, bytes.place.lowerBound] { body.append(number: number) }
            body.append(number: bytes.place.upperBound - bytes.place.lowerBound)
        }
        return try Self.sealed(body)
    }

    /// A body with its trailer.
    static func sealed(_ body: [UInt8]) throws(Failure) -> [UInt8] {
        guard let count = UInt32(exactly: body.count), body.count <= Self.mostBytes else {
            throw Failure(.uploadTooLarge, "The upload is in more pieces than can be stored.")
        }
        var trailer: [UInt8] = []
        trailer.append(bigEndian: count)
        trailer.append(bigEndian: Self.version)
        trailer.append(bigEndian: Self.magic)
        return body + Self.digest(body + trailer) + trailer
    }

    private init(from reader: inout FooterReader, content: UInt64) throws(FooterReader.Fault) {
        switch try reader.byte() {
        case 0: break
        case 1: segment = Segment(of: try reader.id(), at: try reader.stored())
        default: throw .wrongForm
        }
        var origins: [UploadOrigin] = []
        for _ in 0..<(try reader.count()) { origins.append(try UploadOrigin(from: &reader)) }
        var previous = Previous()
        for _ in 0..<(try reader.count()) {
            files.append(try DescribedFile(from: &reader, origins, behind: &previous, content: content))
        }
        for _ in 0..<(try reader.count()) {
            let (from, start, place) = (try reader.stored(), try reader.stored(), try reader.stored())
            let count = try reader.stored()
            try reader.require(from > 0 && count > 0 && place <= content && count <= content - place)
            moved.append(Moved(ObjectNumber(rawValue: from), from: start, to: place..<place + count))
        }
    }

    /// A client, compared by the bytes of the name.
    private struct Origin: Hashable {
        let sender: PathKey
        let client: UInt64?
        let run: UInt64?

        init(_ origin: UploadOrigin) {
            (sender, client, run) = (PathKey(origin.sender), origin.client, origin.run)
        }

        func encode(into bytes: inout [UInt8]) {
            var presence: OriginPresence = []
            if client != nil { presence.insert(.client) }
            if run != nil { presence.insert(.run) }
            bytes.append(presence.rawValue)
            if let client { bytes.append(bigEndian: client) }
            if let run { bytes.append(bigEndian: run) }
            bytes.append(text: Array(sender.string.utf8))
        }
    }
}

extension UploadOrigin {
    fileprivate init(from reader: inout FooterReader) throws(FooterReader.Fault) {
        let presence = ObjectFooter.OriginPresence(rawValue: try reader.byte())
        try reader.require(presence.isSubset(of: .all))
        let client = presence.contains(.client) ? try reader.word() : nil
        let run = presence.contains(.run) ? try reader.word() : nil
        self.init(sender: try reader.string(), client: client, run: run)
    }
}

extension DescribedFile {
    fileprivate func encode(into bytes: inout [UInt8], origin number: Int, behind previous: inout ObjectFooter.Previous)
    {
        let isUsual = previous.usual(size) == extents
        var presence: ObjectFooter.Presence = isUsual ? [] : [.extents]
        if modified != nil { presence.insert(.modified) }
        if permissions != nil { presence.insert(.permissions) }
        if keepsPermissions { presence.insert(.keepsPermissions) }
        if attributes != nil { presence.insert(.attributes) }
        bytes.append(presence.rawValue)
        id.encode(into: &bytes)
        bytes += [conflict.rawValue, origin.kind.rawValue, digest.algorithm.rawValue] + digest.bytes
        bytes.append(number: size)
        bytes.append(signed: moment &- previous.moment)
        bytes.append(number: UInt64(number))
        let text = Array(path.utf8)
        let shared = zip(text, previous.path).prefix { $0 == $1 }.count
        bytes.append(number: UInt64(shared))
        bytes.append(text: text[shared...])
        if let modified {
            bytes.append(signed: modified.seconds &- previous.modified)
            bytes.append(number: UInt64(modified.nanoseconds))
        }
        if let permissions { bytes.append(bigEndian: permissions) }
        if let attributes { bytes.append(text: attributes.encoded) }
        if !isUsual { encode(extents, into: &bytes, behind: &previous) }
        (previous.path, previous.moment) = (text, moment)
        previous.modified = modified?.seconds ?? previous.modified
        previous.note(extents)
    }

    private func encode(
        _ extents: [Extent], into bytes: inout [UInt8], behind previous: inout ObjectFooter.Previous
    ) {
        bytes.append(number: UInt64(extents.count))
        var end: UInt64 = 0
        for extent in extents {
            bytes.append(signed: Int64(bitPattern: extent.object.rawValue &- previous.object))
            bytes.append(number: extent.range.lowerBound &- end)
            bytes.append(number: extent.count)
            bytes.append(number: extent.start)
            (previous.object, end) = (extent.object.rawValue, extent.range.upperBound)
        }
    }

    fileprivate init(
        from reader: inout FooterReader, _ origins: [UploadOrigin], behind previous: inout ObjectFooter.Previous,
        content: UInt64
    ) throws(FooterReader.Fault) {
        let presence = ObjectFooter.Presence(rawValue: try reader.byte())
        try reader.require(presence.isSubset(of: .all))
        let id = try reader.id()
        guard let conflict = ConflictPolicy(rawValue: try reader.byte()),
            let kind = ContentKind(rawValue: try reader.byte()),
            let algorithm = DigestAlgorithm(rawValue: try reader.byte())
        else { throw .wrongForm }
        let digest = Digest(algorithm, try reader.bytes(algorithm.function.size))
        let size = try reader.stored()
        let moment = previous.moment &+ (try reader.signed())
        guard let origin = Int(exactly: try reader.number()), origins.indices.contains(origin),
            let shared = Int(exactly: try reader.number()), shared <= previous.path.count
        else { throw .wrongForm }
        let path = previous.path[..<shared] + (try reader.text())
        guard let text = String(validating: path, as: UTF8.self) else { throw .wrongForm }
        self.init(id: id, path: text, size: size, digest: digest, [])
        (self.conflict, self.origin, self.moment) = (conflict, origins[origin], moment)
        self.origin.kind = kind
        if presence.contains(.modified) {
            let seconds = previous.modified &+ (try reader.signed())
            guard let nanoseconds = UInt32(exactly: try reader.number()), nanoseconds < 1_000_000_000 else {
                throw .wrongForm
            }
            modified = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
            previous.modified = seconds
        }
        if presence.contains(.permissions) { permissions = try reader.short() }
        keepsPermissions = presence.contains(.keepsPermissions)
        if presence.contains(.attributes) {
            guard let attributes = ExtraAttributes(encoded: try reader.text()) else { throw .wrongForm }
            self.attributes = attributes
        }
        if presence.contains(.extents) {
            extents = try Self.extents(of: size, &reader, &previous)
        } else if let usual = previous.usual(size) {
            extents = usual
        } else {
            throw .wrongForm
        }
        for extent in extents where extent.object == .none {
            try reader.require(extent.start <= content && extent.count <= content - extent.start)
        }
        (previous.path, previous.moment) = (Array(path), moment)
        previous.note(extents)
    }

    private static func extents(
        of size: UInt64, _ reader: inout FooterReader, _ previous: inout ObjectFooter.Previous
    ) throws(FooterReader.Fault) -> [Extent] {
        var extents: [Extent] = []
        var end: UInt64 = 0
        for _ in 0..<(try reader.count()) {
            let object = previous.object &+ UInt64(bitPattern: try reader.signed())
            let (gap, count, start) = (try reader.stored(), try reader.stored(), try reader.stored())
            // No sum overflows: all numbers have 63 bits.
            try reader.require(
                count > 0 && LedgerNumber.isStorable(object) && gap <= size - end && count <= size - end - gap
                    && LedgerNumber.isStorable(start + count))
            let lower = end + gap
            extents.append(Extent(lower..<lower + count, in: ObjectNumber(rawValue: object), from: start))
            (previous.object, end) = (object, lower + count)
        }
        return extents
    }
}

// MARK: Numbers and texts

extension [UInt8] {
    fileprivate mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    fileprivate mutating func append(signed number: Int64) {
        append(number: UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    fileprivate mutating func append(text: some Collection<UInt8>) {
        append(number: UInt64(text.count))
        append(contentsOf: text)
    }
}

/// Reads the body of a footer from its start.
struct FooterReader {
    /// The bytes are not a footer.
    enum Fault: Error { case wrongForm }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    func require(_ condition: Bool) throws(Fault) {
        if !condition { throw .wrongForm }
    }

    mutating func byte() throws(Fault) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .wrongForm }
        return byte
    }

    mutating func bytes(_ count: Int) throws(Fault) -> [UInt8] {
        guard count >= 0, count <= rest.count else { throw .wrongForm }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func short() throws(Fault) -> UInt16 {
        let found = try bytes(2)
        return found.span.bytes.bigEndian(at: 0, as: UInt16.self)
    }

    mutating func word() throws(Fault) -> UInt64 {
        let found = try bytes(8)
        return found.span.bytes.bigEndian(at: 0, as: UInt64.self)
    }

    mutating func id() throws(Fault) -> UploadID {
        let found = try bytes(UploadID.size)
        return UploadID(found.span.bytes, at: 0)
    }

    /// A number in its shortest form.
    mutating func number() throws(Fault) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            let bits = UInt64(byte & 0x7F)
            guard (bits << shift) >> shift == bits, byte != 0 || shift == 0 else { throw .wrongForm }
            number |= bits << shift
            if byte < 0x80 { return number }
        }
        throw .wrongForm
    }

    /// A number that a ledger can store.
    mutating func stored() throws(Fault) -> UInt64 {
        let number = try number()
        try require(LedgerNumber.isStorable(number))
        return number
    }

    mutating func signed() throws(Fault) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// The length of a list or text, each of whose elements has at least one byte.
    mutating func count() throws(Fault) -> Int {
        guard let count = Int(exactly: try number()), count <= rest.count else { throw .wrongForm }
        return count
    }

    mutating func text() throws(Fault) -> [UInt8] { try bytes(count()) }

    mutating func string() throws(Fault) -> String {
        guard let text = String(validating: try text(), as: UTF8.self) else { throw .wrongForm }
        return text
    }
}
