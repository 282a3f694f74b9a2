internal import TransferModel

/// The head of a body in the `jsonline` framing, as a client sends it.
struct JSONLineHead {
    enum Content {
        case upload(ContentKind)
        case heartbeat
    }

    let content: Content

    /// The name of the client; nil if it states none.
    let sender: String?

    /// The name of the recipient; nil if it states none.
    let recipient: String?

    /// The size of the body in bytes: 1 or more for uploads, 0 to 65,536 for heartbeats.
    let size: UInt64

    /// - Parameter text: the head without its line end.
    /// - Throws: `malformedFrame` for an invalid head, `unsupportedFunction` for an unknown type, `frameTooLarge` for a
    ///   heartbeat with a long body.
    init(_ text: [UInt8]) throws(ClassicFault) {
        let object = try ClassicObject(text)
        content = try Self.content(object)
        // The known programs misspell this key.
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
            throw object.fault("The type must be txt, img or heart…", .unsupportedFunction)
        }
        return .heartbeat
    }

    private static func uploadSize(_ object: ClassicObject) throws(ClassicFault) -> UInt64 {
        guard let size = try object.size("size"), size > 0 else { throw object.fault("The size must be 1 or more.") }
        return size
    }

    /// Programs differ in whether heartbeats have a body; without a size there is no body.
    private static func heartbeatSize(_ object: ClassicObject) throws(ClassicFault) -> UInt64 {
        let size = try object.size("size") ?? 0
        guard size <= ClassicLimits.heartbeat else {
            throw object.fault("A heartbeat has a body of \(size) bytes.", .frameTooLarge)
        }
        return size
    }
}
