internal import TransferModel

extension StructuredReader {
    /// Reads a value; its first byte determines its type (RFC 9651, section 4.2.3.1).
    mutating func bareItem() throws(Fault) -> BareItem {
        guard let first = next else { throw Fault() }
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "\""): return try string()
        case UInt8(ascii: ":"): return try byteSequence()
        case UInt8(ascii: "?"): return try boolean()
        case UInt8(ascii: "@"): return try date()
        case UInt8(ascii: "%"): return try displayString()
        case _ where StructuredSyntax.isTokenStart(first):
            return .token(String(decoding: take(while: StructuredSyntax.isToken), as: UTF8.self))
        default: throw Fault()
        }
    }

    private mutating func number() throws(Fault) -> BareItem {
        let sign: Int64 = take("-") ? -1 : 1
        let whole = take(while: HTTPCharacter.isDigit)
        guard !whole.isEmpty else { throw Fault() }
        guard take(".") else {
            guard whole.count <= StructuredSyntax.integerDigits else { throw Fault() }
            return .integer(sign * Self.number(whole))
        }
        let fraction = take(while: HTTPCharacter.isDigit)
        guard whole.count <= StructuredSyntax.wholeDigits, !fraction.isEmpty,
            fraction.count <= StructuredSyntax.fractionDigits
        else { throw Fault() }
        let missing = repeatElement(UInt8(ascii: "0"), count: StructuredSyntax.fractionDigits - fraction.count)
        return .decimal(thousandths: sign * Self.number(whole + fraction + missing))
    }

    /// - Parameter digits: not more than 15.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64 {
        digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private mutating func string() throws(Fault) -> BareItem {
        try require("\"")
        var text: [UInt8] = []
        while true {
            let byte = try take()
            switch byte {
            case UInt8(ascii: "\""): return .string(String(decoding: text, as: UTF8.self))
            case UInt8(ascii: "\\"):
                let escaped = try take()
                guard escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else { throw Fault() }
                text.append(escaped)
            case _ where StructuredSyntax.isPrintable(byte): text.append(byte)
            default: throw Fault()
            }
        }
    }

    private mutating func byteSequence() throws(Fault) -> BareItem {
        try require(":")
        let digits = take { $0 != UInt8(ascii: ":") }
        try require(":")
        guard let bytes = Base64Text.decode(digits, .lenient) else { throw Fault() }
        return .bytes(bytes)
    }

    private mutating func boolean() throws(Fault) -> BareItem {
        try require("?")
        if take("1") { return .boolean(true) }
        try require("0")
        return .boolean(false)
    }

    private mutating func date() throws(Fault) -> BareItem {
        try require("@")
        guard let first = next, first == UInt8(ascii: "-") || HTTPCharacter.isDigit(first),
            case .integer(let seconds) = try number()
        else { throw Fault() }
        return .date(seconds)
    }

    private mutating func displayString() throws(Fault) -> BareItem {
        try require("%")
        try require("\"")
        var text: [UInt8] = []
        while true {
            let byte = try take()
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw Fault() }
                return .displayString(string)
            case UInt8(ascii: "%"): text.append(try smallDigit() << 4 | smallDigit())
            case _ where StructuredSyntax.isPrintable(byte): text.append(byte)
            default: throw Fault()
            }
        }
    }

    /// Reads a hexadecimal digit; upper case is refused (section 4.2.10).
    private mutating func smallDigit() throws(Fault) -> UInt8 {
        let digit = try take()
        guard !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit), let value = Hexadecimal.value(of: digit) else {
            throw Fault()
        }
        return value
    }
}
