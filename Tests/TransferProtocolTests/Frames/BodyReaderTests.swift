import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct BodyReaderTests {
    @Test func readsInOrder() throws {
        try read([1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 2, 0xAA, 0xBB]) { (reader: inout BodyReader) throws in
            #expect(try reader.integer(UInt8.self) == 1)
            #expect(try reader.integer(UInt16.self) == 0x0203)
            #expect(try reader.integer(UInt32.self) == 0x0405_0607)
            #expect(try reader.array(2) == [8, 9])
            #expect(faultCode { () throws(ProtocolFault) in try reader.finish() } == .malformedFrame)
            #expect(try reader.sizedArray() == [0xAA, 0xBB])
            #expect(try reader.array(0) == [])
            try reader.finish()
        }
    }

    @Test func negativeNumbers() throws {
        try read([UInt8](repeating: 0xFF, count: 8)) { (reader: inout BodyReader) throws in
            #expect(try reader.integer(Int64.self) == -1)
        }
    }

    @Test func nothingIsReadBeyondTheEnd() throws {
        for count in 0..<8 {
            try read([UInt8](repeating: 1, count: count)) { (reader: inout BodyReader) throws in
                #expect(
                    faultCode { () throws(ProtocolFault) in _ = try reader.integer(UInt64.self) } == .malformedFrame)
                // The failed read has consumed no bytes.
                #expect(try reader.array(count).count == count)
            }
        }
    }

    @Test func lengthBeyondTheEnd() throws {
        try read([0xFF, 0xFF, 1]) { (reader: inout BodyReader) throws in
            #expect(faultCode { () throws(ProtocolFault) in _ = try reader.sizedArray() } == .malformedFrame)
        }
    }

    @Test(
        arguments: [
            ([], [:]), ([1, 0, 0], [1: []]), ([2, 0, 1, 9, 1, 0, 2, 7, 8], [1: [7, 8], 2: [9]]),
            ([9, 0, 1, 9, 9, 0, 0, 1, 0, 1, 5], [1: [5]]),
        ] as [([UInt8], [UInt8: [UInt8]])])
    func fields(_ bytes: [UInt8], expected: [UInt8: [UInt8]]) throws {
        try read(bytes) { (reader: inout BodyReader) throws in
            let fields = try reader.fields(known: [.agent, .serverName])
            for tag in UInt8.min...UInt8.max {
                #expect(fields[FieldTag(rawValue: tag)] == expected[tag], "field \(tag)")
            }
        }
    }

    @Test(
        arguments: [
            [1], [1, 0], [1, 0, 1], [1, 0xFF, 0xFF, 0], [1, 0, 0, 1, 0, 0], [0x80, 0, 0], [9, 0, 0, 0xFF, 0, 0],
        ] as [[UInt8]]) func brokenFields(_ bytes: [UInt8]) throws
    {
        try read(bytes) { (reader: inout BodyReader) throws in
            let code = faultCode { () throws(ProtocolFault) in _ = try reader.fields(known: [.agent]) }
            #expect(code == .malformedFrame)
        }
    }

    private func read(_ bytes: [UInt8], _ body: (inout BodyReader) throws -> Void) throws {
        try bytes.withUnsafeBytes { buffer in
            var reader = BodyReader(buffer)
            try body(&reader)
        }
    }
}
