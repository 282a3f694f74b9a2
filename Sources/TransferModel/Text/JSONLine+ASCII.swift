extension JSONLine {
    /// The object in ASCII only. All other characters are escaped as UTF-16 code units (RFC 8259, section 7), so that
    /// the numbers of characters, code units and bytes are equal.
    package var asciiText: String {
        let text = text
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        var ascii = ""
        // Characters outside ASCII occur only in strings, where they may be escaped.
        for unit in text.utf16 {
            if let scalar = Unicode.Scalar(unit), scalar.isASCII {
                ascii.unicodeScalars.append(scalar)
            } else {
                ascii += "\\u" + String(hexadecimal: UInt32(unit), digits: 4)
            }
        }
        return ascii
    }
}
