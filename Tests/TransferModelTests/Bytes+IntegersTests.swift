import Testing

@testable import TransferModel

@Suite struct BytesIntegersTests {
    @Test func appendsTheHighestByteFirst() {
        var bytes: [UInt8] = [9]
        bytes.append(bigEndian: 0x0102 as UInt16)
        bytes.append(bigEndian: -2 as Int32)
        #expect(bytes == [9, 1, 2, 0xFF, 0xFF, 0xFF, 0xFE])
    }

    @Test func replacesInPlace() {
        var bytes: [UInt8] = [1, 2, 3, 4, 5]
        bytes.replace(bigEndian: 0xAABB as UInt16, at: 1)
        #expect(bytes == [1, 0xAA, 0xBB, 4, 5])
    }

    @Test func readsTheHighestByteFirstAtAnyAlignment() {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
        #expect(bytes.span.bytes.bigEndian(at: 1, as: UInt64.self) == 0x0102_0304_0506_0708)
        #expect(bytes.span.bytes.bigEndian(at: 7, as: UInt16.self) == 0x0708)
        #expect(bytes.span.bytes.bigEndian(at: 8, as: UInt8.self) == 8)
    }

    @Test func appendsTheLowestByteFirst() {
        var bytes: [UInt8] = [9]
        bytes.append(littleEndian: 0x0102 as UInt16)
        bytes.append(littleEndian: -2 as Int32)
        #expect(bytes == [9, 2, 1, 0xFE, 0xFF, 0xFF, 0xFF])
    }

    @Test func readsTheLowestByteFirstAtAnyAlignment() {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 0xFF]
        #expect(bytes.span.bytes.littleEndian(at: 1, as: UInt32.self) == 0x0403_0201)
        #expect(bytes.span.bytes.littleEndian(at: 5, as: Int32.self) == -0x00F8_F9FB)
    }
}
