package import TransferModel

/// A server's answer to an upload in the `sized` framing: a total of 12, the upload's type, and whether it is stored, 4
/// bytes each and little-endian.
package struct SizedAnswer: Equatable, Sendable {
    /// The kind of the upload; nil if the answer repeats an unknown type, which the server has refused.
    package let kind: ContentKind?

    package let isStored: Bool

    /// The size of an answer in bytes.
    package static let size = 12

    /// Reads the answer at the front of the bytes.
    ///
    /// - Returns: nil until it is complete.
    /// - Throws: `ClassicFault` for another total, and for a result other than 0 and 1.
    package static func decode(_ bytes: RawSpan) throws(ClassicFault) -> SizedAnswer? {
        guard bytes.byteCount >= size else { return nil }
        let total = bytes.littleEndian(at: 0, as: UInt32.self)
        guard total == size else {
            throw ClassicFault(.malformedFrame, "An answer has a total of \(total); it must be 12.")
        }
        let result = bytes.littleEndian(at: 8, as: UInt32.self)
        guard result <= 1 else { throw ClassicFault(.malformedFrame, "An answer has the result \(result).") }
        let kind = SizedType(rawValue: bytes.littleEndian(at: 4, as: Int32.self))?.kind
        return SizedAnswer(kind: kind, isStored: result == 1)
    }

    static func bytes(type: UInt32, isStored: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(size))
        bytes.append(littleEndian: type)
        bytes.append(littleEndian: UInt32(isStored ? 1 : 0))
        return bytes
    }
}
