internal import TransferModel

/// A JSON object that a peer sent, with its members checked as they are read.
struct ClassicObject {
    private let members: JSONNode

    /// What faults are about.
    var reference: UInt64 = 0

    /// Reads all of a text.
    ///
    /// - Throws: `malformedFrame` for what is no object: no JSON, not UTF-8, with a member twice, nested too deeply, with too
    ///   many values, or with a NUL character in a string.
    init(_ text: [UInt8]) throws(ClassicFault) {
        do throws(JSONFault) {
            let node = try JSONReader.read(
                text, deepest: ClassicLimits.jsonDepth, allowsNUL: false, mostValues: ClassicLimits.jsonValues)
            guard case .object = node else { throw JSONFault("it is no object") }
            members = node
        } catch {
            throw ClassicFault(.malformedFrame, "This is no JSON object: \(error.message).")
        }
    }

    /// Reads the body of a message, which may be missing for some.
    init(_ json: [UInt8], of function: MessageFunction) throws(ClassicFault) {
        try self.init(json.isEmpty && function.canBeEmpty ? Array("{}".utf8) : json)
    }

    /// What the key stands for; null counts as nothing.
    private func member(_ key: String) -> JSONNode? {
        let member = members[key]
        return member == .null ? nil : member
    }

    /// A text of any length, or nothing.
    func text(_ key: String) throws(ClassicFault) -> String? {
        guard let member = member(key) else { return nil }
        guard case .string(let text) = member else { throw fault("The member '\(key)' is no string.") }
        return text
    }

    /// The name of a client; an empty one is none.
    func client(_ key: String) throws(ClassicFault) -> String? {
        guard let text = try text(key), !text.isEmpty else { return nil }
        guard text.utf8.count <= ClassicLimits.client else {
            throw fault("The member '\(key)' has more than \(ClassicLimits.client) bytes.")
        }
        return text
    }

    /// A number in a range, or nothing. It is written as an integer: without a point, an exponent or a sign.
    func number(_ key: String, in range: ClosedRange<UInt64>) throws(ClassicFault) -> UInt64? {
        guard let member = member(key) else { return nil }
        guard case .number(let digits) = member, let number = UInt64(decimal: digits), range.contains(number) else {
            throw fault("The member '\(key)' is no whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A size in bytes, as a string of digits or as a number, or nothing.
    func size(_ key: String) throws(ClassicFault) -> UInt64? {
        let digits: String
        switch member(key) {
        case .string(let text), .number(let text): digits = text
        case nil: return nil
        case .some: throw fault("The member '\(key)' is no number.")
        }
        guard let size = UInt64(decimal: digits), size <= Limits.uploadSize else {
            throw fault("The member '\(key)' is no whole number from 0 to \(Limits.uploadSize).")
        }
        return size
    }

    func fault(_ message: String, _ code: ResultCode = .malformedFrame) -> ClassicFault {
        ClassicFault(code, message, reference: reference)
    }
}

extension UInt64 {
    /// Reads digits alone, up to 19 of them: no sign, and nothing that overflows.
    init?(decimal text: String) {
        let digits = text.utf8
        guard (1...19).contains(digits.count) else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            // Nineteen nines are less than 2^64.
            number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        self = number
    }
}
