internal import TransferModel

/// The 37 characters in front of each message of `tagged37`: `V0.1`, a length and a type of eight decimal digits each, and
/// seventeen zeros.
struct Tagged37Header: Equatable {
    static let mark = Array("V0.1".utf8)

    /// Bytes of it.
    static let size = 37

    private static let zeros = 17

    /// What eight digits can say.
    static let longest = 99_999_999

    let function: MessageFunction

    /// Of the JSON behind it: bytes for some programs, code units of UTF-16 for others.
    let length: Int

    /// Reads the header at the front of the bytes, whose mark was seen.
    ///
    /// - Returns: nothing as long as it is not whole.
    /// - Throws: `malformedFrame`, `frameTooLarge`, `unsupportedFunction`.
    init?(_ bytes: RawSpan) throws(ClassicFault) {
        guard bytes.byteCount >= Self.size else { return nil }
        let (total, type, isPadded) = bytes.withUnsafeBytes { header in
            (Self.number(header[4..<12]), Self.number(header[12..<20]), Self.isPadding(header[20..<Self.size]))
        }
        guard let total, let type, isPadded, total > Self.size else {
            throw ClassicFault(.malformedFrame, "A header is not V0.1, eight digits, eight digits and seventeen zeros.")
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

    /// The header of a message in ASCII, whose lengths all agree.
    ///
    /// - Parameter length: bytes of the JSON.
    /// - Returns: nothing for more than eight digits can say.
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
