import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

@Suite struct FrameHeaderTests {
    @Test(
        arguments: [
            (FrameHeader(.hello, bodyLength: 4), [0, 2, 0, 1, 0, 0, 4]),
            (FrameHeader(.ping, bodyLength: 8), [0, 2, 0, 3, 0, 0, 8]),
            (FrameHeader(.abort, bodyLength: 0), [0, 2, 0, 21, 0, 0, 0]),
            (FrameHeader(.result, bodyLength: 16_384), [0, 2, 0, 23, 0, 0x40, 0]),
            (FrameHeader(.data, bodyLength: 0), [0, 2, 0, 18, 0, 0, 0]),
            (FrameHeader(.data, encoding: .zlib, bodyLength: 258), [0, 2, 0, 18, 1, 1, 2]),
            (FrameHeader(.data, encoding: .zstd, bodyLength: 258), [0, 2, 0, 18, 2, 1, 2]),
            (FrameHeader(.data, bodyLength: 65_534), [0, 2, 0, 18, 0, 0xFF, 0xFE]),
            (
                FrameHeader(.data, encoding: .zlib, bodyLength: 65_535),
                [0, 2, 0, 18, 1, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
            ),
            (FrameHeader(.data, bodyLength: 1 << 20), [0, 2, 0, 18, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0x10, 0, 0]),
        ] as [(FrameHeader, [UInt8])])
    func hasOneEncoding(_ header: FrameHeader, bytes: [UInt8]) throws {
        var encoded: [UInt8] = []
        header.encode(into: &encoded)
        #expect(encoded == bytes)
        #expect(header.encodedSize == bytes.count)
        #expect(try decode(bytes) == header)
        #expect(try decode(bytes + [1, 2, 3]) == header)
        for count in 0..<bytes.count { #expect(try decode(Array(bytes.prefix(count))) == nil) }
    }

    @Test(arguments: FunctionCode.allCases) func everyLengthWithinTheLimitIsTaken(_ function: FunctionCode) throws {
        let limit = function == .data ? Limits.dataBody : Limits.controlBody
        for length in [0, 1, limit - 1, limit] {
            let header = FrameHeader(function, bodyLength: length)
            var bytes: [UInt8] = []
            header.encode(into: &bytes)
            #expect(try decode(bytes) == header)
        }
    }

    @Test(
        arguments: [
            [0, 0], [0, 1], [0, 3], [2, 0], [0xFF, 0xFF], Array("GET / HTTP/1.1".utf8), [0x16, 3, 1, 0, 0xA5],
        ] as [[UInt8]]) func otherVersionIsNoticedAtTwoBytes(_ bytes: [UInt8])
    {
        #expect(fault(bytes) == .unsupportedVersion)
        #expect(fault(Array(bytes.prefix(2))) == .unsupportedVersion)
    }

    @Test(arguments: [0, 6, 15, 29, 0x1200, .max] as [UInt16]) func unknownFunction(_ number: UInt16) {
        #expect(fault(header(function: number)) == .unsupportedFunction)
    }

    @Test(arguments: [4, 5, 0x80, 0xFF] as [UInt8]) func unknownCompressFlag(_ flag: UInt8) {
        #expect(fault(header(function: 18, flag: flag)) == .malformedFrame)
    }

    @Test(arguments: FunctionCode.allCases) func onlyDataMayBeCompressed(_ function: FunctionCode) {
        for flag: UInt8 in [1, 2, 3] {
            let bytes = header(function: function.rawValue, flag: flag, length: 4)
            #expect(fault(bytes) == (function == .data ? nil : .malformedFrame))
        }
    }

    /// A receiver keeps a zstd frame until it is complete.
    @Test func zstdFramesHaveALimitOfTheirOwn() throws {
        let limit = UInt64(Limits.zstdBody)
        #expect(fault(header(function: 18, flag: 2, extended: limit + 1)) == .frameTooLarge)
        #expect(fault(header(function: 18, flag: 2, extended: UInt64(Limits.dataBody))) == .frameTooLarge)
        let largest = try decode(header(function: 18, flag: 2, extended: limit))
        #expect(largest == FrameHeader(.data, encoding: .zstd, bodyLength: Limits.zstdBody))
    }

    /// The header already shows a wrong length, so no bytes of the hole are kept.
    @Test(arguments: [0, 3, 5, 65_534] as [UInt16]) func holesHaveOneLength(_ length: UInt16) throws {
        #expect(fault(header(function: 18, flag: 3, length: length)) == .malformedFrame)
        #expect(fault(header(function: 18, flag: 3, extended: UInt64(length))) == .malformedFrame)
        #expect(fault(header(function: 18, flag: 3, extended: .max)) == .malformedFrame)
        let one = try decode(header(function: 18, flag: 3, length: 4))
        #expect(one == FrameHeader(.data, encoding: .hole, bodyLength: 4))
    }

    @Test(arguments: FunctionCode.allCases.filter { $0 != .data }, [16_385, 65_534] as [UInt16])
    func controlBodyOverTheLimit(_ function: FunctionCode, length: UInt16) {
        #expect(fault(header(function: function.rawValue, length: length)) == .frameTooLarge)
    }

    @Test(arguments: [1 << 20 + 1, 1 << 32, 1 << 63, 1 << 63 - 1, .max] as [UInt64])
    func extendedLengthOverTheLimit(_ length: UInt64) {
        #expect(fault(header(function: 18, extended: length)) == .frameTooLarge)
        #expect(fault(header(function: 18, flag: 1, extended: length)) == .frameTooLarge)
        #expect(fault(header(function: 16, extended: length)) == .frameTooLarge)
    }

    @Test(arguments: [0, 1, 7, 65_534] as [UInt64]) func extendedLengthThatShouldBeShort(_ length: UInt64) {
        #expect(fault(header(function: 18, extended: length)) == .malformedFrame)
        #expect(fault(header(function: 3, extended: length)) == .malformedFrame)
    }

    @Test func extendedControlBodyIsTooLarge() {
        #expect(fault(header(function: 23, extended: 65_535)) == .frameTooLarge)
    }

    @Test func randomHeadersNeverTrap() throws {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            var bytes = generator.bytes(Int.random(in: 0...16, using: &generator))
            bytes.replaceSubrange(0..<min(2, bytes.count), with: [0, 2].prefix(bytes.count))
            guard let header = try? decode(bytes) else { continue }
            #expect(header.bodyLength <= Limits.dataBody)
            #expect(header.encodedSize <= bytes.count)
        }
    }

    private func decode(_ bytes: [UInt8]) throws(ProtocolFault) -> FrameHeader? {
        try FrameHeader.decode(bytes.span.bytes)
    }

    private func fault(_ bytes: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try decode(bytes) }
    }

    private func header(function: UInt16, flag: UInt8 = 0, length: UInt16 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: FrameHeader.version)
        bytes.append(bigEndian: function)
        bytes.append(flag)
        bytes.append(bigEndian: length)
        return bytes
    }

    private func header(function: UInt16, flag: UInt8 = 0, extended: UInt64) -> [UInt8] {
        var bytes = header(function: function, flag: flag, length: .max)
        bytes.append(bigEndian: extended)
        return bytes
    }
}
