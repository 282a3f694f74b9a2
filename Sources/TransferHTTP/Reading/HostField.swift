internal import TransferModel

/// Syntax of `Host`: `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2).
enum HostField {
    /// Accepts names, IPv4 addresses, and IPv6 addresses in brackets. This is stricter than the grammar: it refuses an
    /// empty value, which is no authority of `http` (RFC 9110, section 4.2.1), a value with a comma, which may be two
    /// Hosts joined to one, and the syntax for future kinds of address.
    static func isValid(_ value: some BidirectionalCollection<UInt8>) -> Bool {
        guard value.first == UInt8(ascii: "[") else {
            let name = value.prefix { $0 != UInt8(ascii: ":") }
            return !name.isEmpty && isName(name) && isPort(value[name.endIndex...])
        }
        guard let bracket = value.firstIndex(of: UInt8(ascii: "]")) else { return false }
        let address = value[value.index(after: value.startIndex)..<bracket]
        return isAddress(address) && isPort(value[value.index(after: bracket)...])
    }

    /// Whether the text is a `reg-name` of at least one byte.
    private static func isName(_ name: some Collection<UInt8>) -> Bool {
        var digits = 0
        for byte in name {
            if digits > 0 {
                guard isHexadecimal(byte) else { return false }
                digits -= 1
            } else if byte == UInt8(ascii: "%") {
                digits = 2
            } else if !isNameByte(byte) {
                return false
            }
        }
        return digits == 0
    }

    /// `unreserved` and `sub-delims` but for the comma (RFC 3986, section 2).
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: "+"),
            UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// Whether the text has only bytes of an IPv6 address. Zones are not permitted in a Host (RFC 9110 does not include
    /// RFC 6874).
    private static func isAddress(_ address: some Collection<UInt8>) -> Bool {
        address.contains(UInt8(ascii: ":"))
            && address.allSatisfy { isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
    }

    /// Whether the text is empty, or a colon and at most five digits up to 65535.
    private static func isPort(_ text: some Collection<UInt8>) -> Bool {
        guard let colon = text.first else { return true }
        let digits = text.dropFirst()
        guard colon == UInt8(ascii: ":"), digits.count <= HTTPLimits.portDigits,
            digits.allSatisfy(HTTPCharacter.isDigit)
        else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= HTTPLimits.port
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool { Hexadecimal.value(of: byte) != nil }
}
