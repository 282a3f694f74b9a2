import Testing

@testable import TransferModel

@Suite struct BytesLittleEndianTests {
    @Test func appendsTheLowestByteFirst() {
        var bytes: [UInt8] = [9]
        bytes.append(littleEndian: 0x0102 as UInt16)
        bytes.append(littleEndian: -2 as Int32)
        #expect(bytes == [9, 2, 1, 0xFE, 0xFF, 0xFF, 0xFF])
    }

    @Test func readsAtAnyAlignment() {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 0xFF]
        #expect(bytes.span.bytes.littleEndian(at: 1, as: UInt32.self) == 0x0403_0201)
        #expect(bytes.span.bytes.littleEndian(at: 5, as: Int32.self) == -0x00F8_F9FB)
    }
}
