internal import TransferModel

/// What stands in front of a body in the `jsonline` framing, as a client sends it.
struct JSONLineHead {
    enum Content {
        case upload(ContentKind)
        case heartbeat
    }

    let content: Content

    /// What the client calls itself.
    let sender: String?

    /// Whom the body is for.
    let recipient: String?

    /// Bytes of the body: 1 or more for uploads, 0 to 65,536 for heartbeats.
    let size: UInt64

    /// - Parameter text: up to the line end.
    /// - Throws: `malformedFrame` for what is no such head, `unsupportedFunction` for a type that isn't known,
    ///   `frameTooLarge` for a heartbeat with a long body.
    init(_ text: [UInt8]) throws(ClassicFault) {
        let object = try ClassicObject(text)
        content = try Self.content(object)
        // Spelt wrongly in the programs that there are.
        let misspelt = try object.client("CinentID")
        sender = if let misspelt { misspelt } else { try object.client("ClientID") }
        recipient = try object.client("targetID")
        switch content {
        case .upload: size = try Self.uploadSize(object)
        case .heartbeat: size = try Self.heartbeatSize(object)
        }
    }

    private static func content(_ object: ClassicObject) throws(ClassicFault) -> Content {
        guard let type = try object.text("type") else { throw object.fault("The head has no type.") }
        if type.hasSameBytes(as: "txt") { return .upload(.text) }
        if type.hasSameBytes(as: "img") { return .upload(.picture) }
        guard type.utf8.starts(with: "heart".utf8) else {
            throw object.fault("The type is none of txt, img and heart…", .unsupportedFunction)
        }
        return .heartbeat
    }

    private static func uploadSize(_ object: ClassicObject) throws(ClassicFault) -> UInt64 {
        guard let size = try object.size("size"), size > 0 else { throw object.fault("The size is not 1 or more.") }
        return size
    }

    /// Programs differ in whether heartbeats have a body; what has no size has none.
    private static func heartbeatSize(_ object: ClassicObject) throws(ClassicFault) -> UInt64 {
        let size = try object.size("size") ?? 0
        guard size <= ClassicLimits.heartbeat else {
            throw object.fault("A heartbeat has a body of \(size) bytes.", .frameTooLarge)
        }
        return size
    }
}
