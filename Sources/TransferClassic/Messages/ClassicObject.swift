internal import TransferModel

/// A JSON object from a peer, whose members are checked when they are read.
struct ClassicObject {
    private let members: JSONNode

    /// The ID of the upload that faults refer to; 0 for none.
    var reference: UInt64 = 0

    /// Parses a whole text.
    ///
    /// - Throws: `malformedFrame` if it is not a JSON object, is not UTF-8, has a member twice, too deep nesting or too
    ///   many values, or a NUL character in a string.
    init(_ text: [UInt8]) throws(ClassicFault) {
        do throws(JSONFault) {
            let node = try JSONReader.read(
                text, deepest: ClassicLimits.jsonDepth, allowsNUL: false, mostValues: ClassicLimits.jsonValues)
            guard case .object = node else { throw JSONFault("it is not an object") }
            members = node
        } catch {
            throw ClassicFault(.malformedFrame, "This is not a JSON object: \(error.message).")
        }
    }

    /// Parses the body of a message, which some functions may leave out.
    init(_ json: [UInt8], of function: MessageFunction) throws(ClassicFault) {
        try self.init(json.isEmpty && function.canBeEmpty ? Array("{}".utf8) : json)
    }

    /// The value of a key; nil if it is missing or null.
    private func member(_ key: String) -> JSONNode? {
        let member = members[key]
        return member == .null ? nil : member
    }

    /// A text of any length; nil if the member is missing.
    func text(_ key: String) throws(ClassicFault) -> String? {
        guard let member = member(key) else { return nil }
        guard case .string(let text) = member else { throw fault("The member '\(key)' is not a string.") }
        return text
    }

    /// The name of a client; nil if the member is missing or empty.
    func client(_ key: String) throws(ClassicFault) -> String? {
        guard let text = try text(key), !text.isEmpty else { return nil }
        guard text.utf8.count <= ClassicLimits.client else {
            throw fault("The member '\(key)' has more than \(ClassicLimits.client) bytes.")
        }
        return text
    }

    /// An integer in a range, without a point, an exponent or a sign; nil if the member is missing.
    func number(_ key: String, in range: ClosedRange<UInt64>) throws(ClassicFault) -> UInt64? {
        guard let member = member(key) else { return nil }
        guard case .number(let digits) = member, let number = UInt64(decimal: digits), range.contains(number) else {
            throw fault("The member '\(key)' is not a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A size in bytes, as a string of digits or a number; nil if the member is missing.
    func size(_ key: String) throws(ClassicFault) -> UInt64? {
        let digits: String
        switch member(key) {
        case .string(let text), .number(let text): digits = text
        case nil: return nil
        case .some: throw fault("The member '\(key)' is not a number.")
        }
        guard let size = UInt64(decimal: digits), size <= Limits.uploadSize else {
            throw fault("The member '\(key)' is not a whole number from 0 to \(Limits.uploadSize).")
        }
        return size
    }

    func fault(_ message: String, _ code: ResultCode = .malformedFrame) -> ClassicFault {
        ClassicFault(code, message, reference: reference)
    }
}

extension UInt64 {
    /// Parses 1 to 19 decimal digits, without a sign; these cannot overflow.
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
