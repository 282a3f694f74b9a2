internal import TransferModel

extension ClassicResult {
    /// The members of a `result` message.
    ///
    /// - Parameter id: the ID of the upload; 0 for the whole conversation.
    func object(id: UInt64) -> JSONLine {
        var object: JSONLine = ["id": .integer(id), "code": .integer(code.rawValue), "result": .string(code.name)]
        if let name { object.append("name", .string(name.clipped(to: Limits.pathComponent))) }
        if let path { object.append("path", .string(path.clipped(to: Limits.path))) }
        if let message { object.append("message", .string(message.clipped(to: ClassicLimits.sentence))) }
        return object
    }

    /// Reads the members of a `result` message.
    ///
    /// - Throws: `malformedFrame`.
    init(_ object: ClassicObject) throws(ClassicFault) {
        guard let number = try object.number("code", in: 0...UInt64(UInt16.max)) else {
            throw object.fault("The result has no code.")
        }
        self.init(
            ResultCode(rawValue: UInt16(number)), path: try object.text("path"), message: try object.text("message"),
            name: try object.text("name"))
    }
}
