internal import TransferModel

/// The 37 characters before each message of `tagged37`: `V0.1`, a length and a type of eight decimal digits each, and
/// seventeen zeros.
struct Tagged37Header: Equatable {
    static let mark = Array("V0.1".utf8)

    /// The size of the header in bytes.
    static let size = 37

    private static let zeros = 17

    /// The largest number of eight digits.
    static let longest = 99_999_999

    let function: MessageFunction

    /// The length of the JSON: some programs count bytes, others UTF-16 code units.
    let length: Int

    /// Reads the header at the front of the bytes, whose mark was found.
    ///
    /// - Returns: nil until it is complete.
    /// - Throws: `malformedFrame`, `frameTooLarge`, `unsupportedFunction`.
    init?(_ bytes: RawSpan) throws(ClassicFault) {
        guard bytes.byteCount >= Self.size else { return nil }
        let (total, type, isPadded) = bytes.withUnsafeBytes { header in
            (Self.number(header[4..<12]), Self.number(header[12..<20]), Self.isPadding(header[20..<Self.size]))
        }
        guard let total, let type, isPadded, total > Self.size else {
            throw ClassicFault(
                .malformedFrame, "A header must be V0.1, eight digits, eight digits and seventeen zeros.")
        }
        guard let function = UInt16(exactly: type).flatMap(MessageFunction.init) else {
            throw .unknown(function: UInt32(type))
        }
        length = total - Self.size
        guard length <= ClassicLimits.json else {
            throw ClassicFault(
                .frameTooLarge, "A message has a length of \(length); the limit is \(ClassicLimits.json).")
        }
        self.function = function
    }

    /// The header of a message that is all ASCII, where bytes and UTF-16 code units are equally many.
    ///
    /// - Parameter length: the number of bytes of the JSON.
    /// - Returns: nil if the length has more than eight digits.
    static func text(_ function: MessageFunction, length: Int) -> String? {
        guard length <= longest - size else { return nil }
        return "V0.1" + digits(size + length) + digits(Int(function.rawValue)) + String(repeating: "0", count: zeros)
    }

    private static func digits(_ number: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }

    private static func isPadding(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        bytes.allSatisfy { $0 == UInt8(ascii: "0") }
    }
}
