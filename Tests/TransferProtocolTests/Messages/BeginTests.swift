import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct BeginTests {
    /// Offsets of fields in the body.
    private static let flags = 16
    private static let kind = 17
    private static let digest = 18
    private static let conflict = 19

    @Test(arguments: 0..<16 as Range<UInt8>) func everyCombinationOfOptionalValues(_ presence: UInt8) throws {
        let begin = Begin(
            id: Sample.id, path: "a/b", size: presence & 1 != 0 ? 5 : nil, expectsAccept: presence & 8 != 0,
            modified: presence & 2 != 0 ? .init(seconds: -1, nanoseconds: 7) : nil,
            permissions: presence & 4 != 0 ? 0o777 : nil)
        let body = Message.begin(begin).body
        #expect(body[Self.flags] == presence)
        let optional = [1: 8, 2: 12, 4: 2].filter { presence & $0.key != 0 }.values.reduce(0, +)
        #expect(body.count == 20 + optional + 2 + 3)
        #expect(try Message.decode(.begin, unchecked: body) == .begin(begin))
    }

    @Test(arguments: [0x20, 0x40, 0x80] as [UInt8]) func unknownFlagsAreRefused(_ flag: UInt8) {
        #expect(fault(changing: Self.flags, to: 0x07 | flag) == .malformedFrame)
    }

    @Test func idZeroIsRefused() {
        let body = [UInt8](repeating: 0, count: 16) + Message.begin(Sample.begin).body.dropFirst(16)
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) } == .malformedFrame
        )
    }

    @Test(arguments: [5, 0xFF] as [UInt8]) func unknownKindIsAFile(_ number: UInt8) throws {
        #expect(try decode(changing: Self.kind, to: number).kind == .file)
    }

    @Test(arguments: [0, 3, 4, 0xFF] as [UInt8]) func unknownDigestIsRefused(_ number: UInt8) {
        #expect(fault(changing: Self.digest, to: number) == .unsupportedDigest)
    }

    @Test(arguments: [4, 0xFF] as [UInt8]) func unknownConflictPolicyIsRefused(_ number: UInt8) {
        #expect(fault(changing: Self.conflict, to: number) == .malformedFrame)
    }

    @Test(arguments: ContentKind.allCases, ConflictPolicy.allCases)
    func everyKindAndPolicy(_ kind: ContentKind, conflict: ConflictPolicy) throws {
        for digest in DigestFunction.allCases {
            let begin = Begin(id: Sample.id, path: "a", size: 0, kind: kind, digest: digest, conflict: conflict)
            #expect(try Message.decode(.begin, unchecked: Message.begin(begin).body) == .begin(begin))
        }
    }

    @Test(
        arguments: [
            (0, nil), (999_999_999, nil), (1_000_000_000, .malformedFrame), (.max, .malformedFrame),
        ] as [(UInt32, ResultCode?)]) func nanosecondsAreLessThanASecond(_ nanoseconds: UInt32, expected: ResultCode?)
    {
        let begin = Begin(
            id: Sample.id, path: "a", size: nil, modified: .init(seconds: 0, nanoseconds: nanoseconds))
        let body = Message.begin(begin).body
        #expect(faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) } == expected)
    }

    @Test(
        arguments: [
            [0xFF], [0x61, 0x80], [0xC0, 0xAF], [0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x2F, 0xFE],
        ] as [[UInt8]]) func pathThatIsNotUTF8IsTheUploadsFaultAlone(_ path: [UInt8]) throws
    {
        var body = Array(Message.begin(Begin(id: Sample.id, path: "", size: nil)).body.dropLast(2))
        body.append(bigEndian: UInt16(path.count))
        guard case .begin(let begin) = try Message.decode(.begin, unchecked: body + path) else { return }
        #expect(begin.path == Begin.undecodablePath)
        #expect(throws: RelativePath.Fault.self) { try RelativePath(begin.path) }
    }

    @Test func pathsAreKeptByteByByte() throws {
        // These paths are equal as Swift strings, but stand for two names on the disk.
        for path in ["e\u{301}", "\u{E9}", "a/\u{301}b", "\u{FEFF}x", ""] {
            let body = Message.begin(Begin(id: Sample.id, path: path, size: nil)).body
            guard case .begin(let begin) = try Message.decode(.begin, unchecked: body) else { return }
            #expect(Array(begin.path.utf8) == Array(path.utf8))
        }
    }

    @Test func declaredPathLengthBeyondTheBody() {
        for length in [1, 0x7FFF, 0xFFFF] as [UInt16] {
            var body = Array(Message.begin(Begin(id: Sample.id, path: "", size: nil)).body.dropLast(2))
            body.append(bigEndian: length)
            #expect(
                faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) }
                    == .malformedFrame)
        }
    }

    @Test(
        arguments: [
            (0, 4 << 20, 8 << 20), (4 << 20, 4 << 20, 8 << 20), (4 << 20, 1, (4 << 20) + 1), (0, 5, 5),
            (1 << 62, 4 << 20, 1 << 63),
        ] as [(UInt64, UInt64, UInt64)]) func partsAreWholeBlocks(offset: UInt64, size: UInt64, total: UInt64) throws
    {
        let begin = Self.part(offset, size, total)
        #expect(try Message.decode(.begin, unchecked: Message.begin(begin).body) == .begin(begin))
    }

    @Test(
        arguments: [
            (0, 64 << 10, 8 << 20), (64 << 10, (4 << 20) - (64 << 10), 8 << 20), (4 << 20, 128 << 10, 8 << 20),
            ((4 << 20) + (64 << 10), 1, (4 << 20) + (64 << 10) + 1), (1 << 62, 64 << 10, 1 << 63),
        ] as [(UInt64, UInt64, UInt64)]) func partsArePiecesOfOneBlock(offset: UInt64, size: UInt64, total: UInt64)
        throws
    {
        let begin = Self.part(offset, size, total)
        #expect(try Message.decode(.begin, unchecked: Message.begin(begin).body) == .begin(begin))
    }

    @Test(
        arguments: [
            (64 << 10, 4 << 20, 8 << 20), ((4 << 20) - (64 << 10), 128 << 10, 8 << 20),
            (64 << 10, (64 << 10) - 1, 8 << 20),
            (1000, 64 << 10, 8 << 20), (1000, (4 << 20) - 1000, 8 << 20), (64 << 10, 0, 64 << 10),
            (64 << 10, 64 << 10, .max),
            (64 << 10, 64 << 10, 64 << 10),
            (1, 4 << 20, 8 << 20), (0, 5, 8 << 20), (0, 0, 8 << 20), (4 << 20, 8 << 20, 8 << 20), (8 << 20, 1, 8 << 20),
            (0, nil, 8 << 20), (.max - (4 << 20) + 1, 4 << 20, .max), (0, 4 << 20, 0),
        ] as [(UInt64, UInt64?, UInt64)]) func otherPartsAreRefused(offset: UInt64, size: UInt64?, total: UInt64)
    {
        let body = Message.begin(Self.part(offset, size, total)).body
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) } == .malformedFrame
        )
    }

    /// A part made of a peer's numbers has a valid range, or none.
    @Test func aPartHasARangeWithinItsUpload() {
        let block = UInt64(Limits.blockSize)
        func range(_ offset: UInt64, _ size: UInt64, _ total: UInt64?) -> Range<UInt64>? {
            Begin.Part(of: Sample.id, offset: offset, total: total).range(size: size)
        }
        #expect(range(block, 5, block + 5) == block..<block + 5)
        #expect(range(block, block, nil) == block..<2 * block)
        #expect(range(10 * block, block, 5) == nil && range(block, 5, block + 4) == nil)
        #expect(range(.max - block + 1, block, nil) == nil && range(.max, .max, .max) == nil)
    }

    @Test func aMultipartUploadDeclaresItsSize() throws {
        var begin = Begin(id: Sample.id, path: "a", size: 9 << 20)
        begin.scope = .multipart
        #expect(try Message.decode(.begin, unchecked: Message.begin(begin).body) == .begin(begin))
        begin.size = nil
        let body = Message.begin(begin).body
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) } == .malformedFrame
        )
    }

    @Test(
        arguments: [
            [0x80, 0, 0], [0x80, 0, 31] + Array(repeating: 1, count: 31), [0x81, 0, 1, 0],
            [0x81, 0, 0] + Self.partField, Self.partField + Self.partField,
            [0x80, 0, 32] + Array(repeating: 0, count: 24) + [0, 0, 0, 0, 0, 0, 0, 5], [0x82, 0, 0],
        ] as [[UInt8]]) func brokenScopesAreRefused(_ fields: [UInt8])
    {
        let body = Message.begin(Begin(id: Sample.id, path: "a", size: 5)).body + fields
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(.begin, unchecked: body) } == .malformedFrame
        )
    }

    /// A part with all 5 bytes of an upload.
    private static let partField: [UInt8] =
        [0x80, 0, 32] + Array(repeating: 7, count: 16) + [UInt8](repeating: 0, count: 15) + [5]

    @Test func aPartOfAnUploadInOnePiece() throws {
        let body = Message.begin(Begin(id: Sample.id, path: "a", size: 5)).body + Self.partField
        guard case .begin(let begin) = try Message.decode(.begin, unchecked: body) else { return }
        let upload = UploadID(high: 0x0707_0707_0707_0707, low: 0x0707_0707_0707_0707)
        #expect(begin.scope == .part(.init(of: upload, offset: 0, total: 5)))
    }

    private static func part(_ offset: UInt64, _ size: UInt64?, _ total: UInt64) -> Begin {
        var begin = Begin(id: Sample.id, path: "a", size: size)
        begin.scope = .part(.init(of: UploadID(high: 1, low: 2), offset: offset, total: total))
        return begin
    }

    private func decode(changing offset: Int, to value: UInt8) throws(ProtocolFault) -> Begin {
        var body = Message.begin(Sample.begin).body
        body[offset] = value
        guard case .begin(let begin) = try Message.decode(.begin, unchecked: body) else {
            preconditionFailure("a begin body decodes to begin")
        }
        return begin
    }

    private func fault(changing offset: Int, to value: UInt8) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try decode(changing: offset, to: value) }
    }
}
