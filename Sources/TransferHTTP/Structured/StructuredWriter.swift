internal import TransferModel

/// Writes structured fields (RFC 9651, section 4.1). The result is nil if any part of the value is invalid.
package enum StructuredWriter {
    package static func text(_ item: StructuredItem) -> String? {
        guard let value = text(item.value), let parameters = text(item.parameters) else { return nil }
        return value + parameters
    }

    /// Writes a list. The text of an empty list is empty; the field must not be sent then (section 4.1).
    package static func text(_ list: [StructuredMember]) -> String? { joined(list.map { text($0) }, ", ") }

    /// Writes a dictionary. The text of an empty dictionary is empty; the field must not be sent then.
    package static func text(_ dictionary: StructuredDictionary) -> String? {
        let members = dictionary.entries.map { entry -> String? in
            guard isKey(entry.key) else { return nil }
            if case .item(let item) = entry.value, item.value == .boolean(true) {
                return text(item.parameters).map { entry.key + $0 }
            }
            return text(entry.value).map { entry.key + "=" + $0 }
        }
        return joined(members, ", ")
    }

    package static func text(_ value: BareItem) -> String? {
        switch value {
        case .integer(let number): number.magnitude <= StructuredSyntax.largest ? "\(number)" : nil
        case .decimal(let thousandths): decimal(thousandths)
        case .string(let text): string(text)
        case .token(let text): token(text)
        case .bytes(let bytes): ":" + Base64Text.encode(bytes) + ":"
        case .boolean(let value): value ? "?1" : "?0"
        case .date(let seconds): seconds.magnitude <= StructuredSyntax.largest ? "@\(seconds)" : nil
        case .displayString(let text): displayString(text)
        }
    }

    private static func text(_ member: StructuredMember) -> String? {
        switch member {
        case .item(let item): return text(item)
        case .innerList(let items, let parameters):
            guard let list = joined(items.map { text($0) }, " "), let parameters = text(parameters) else { return nil }
            return "(" + list + ")" + parameters
        }
    }

    private static func text(_ parameters: StructuredParameters) -> String? {
        let texts = parameters.entries.map { entry -> String? in
            guard isKey(entry.key) else { return nil }
            return entry.value == .boolean(true)
                ? ";" + entry.key : text(entry.value).map { ";" + entry.key + "=" + $0 }
        }
        return joined(texts, "")
    }

    private static func joined(_ texts: [String?], _ separator: String) -> String? {
        let all = texts.compactMap(\.self)
        return all.count == texts.count ? all.joined(separator: separator) : nil
    }

    private static func isKey(_ key: String) -> Bool {
        guard let first = key.utf8.first else { return false }
        return StructuredSyntax.isKeyStart(first) && key.utf8.allSatisfy(StructuredSyntax.isKey)
    }

    /// Writes at least one decimal, and no zeros that are not needed.
    private static func decimal(_ thousandths: Int64) -> String? {
        guard thousandths.magnitude <= StructuredSyntax.largest else { return nil }
        let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
        var fraction = Array(String(rest + 1000).utf8.dropFirst())
        while fraction.count > 1, fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        return (thousandths < 0 ? "-" : "") + "\(whole)." + String(decoding: fraction, as: UTF8.self)
    }

    private static func string(_ text: String) -> String? {
        guard text.utf8.allSatisfy(StructuredSyntax.isPrintable) else { return nil }
        return FieldSyntax.quoted(text)
    }

    private static func token(_ text: String) -> String? {
        guard let first = text.utf8.first, StructuredSyntax.isTokenStart(first),
            text.utf8.allSatisfy(StructuredSyntax.isToken)
        else { return nil }
        return text
    }

    private static func displayString(_ text: String) -> String {
        var digits = "%\""
        for byte in text.utf8 {
            if StructuredSyntax.isPrintable(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: "\"") {
                digits.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                digits += "%" + String(hexadecimal: UInt32(byte), digits: 2)
            }
        }
        return digits + "\""
    }
}
