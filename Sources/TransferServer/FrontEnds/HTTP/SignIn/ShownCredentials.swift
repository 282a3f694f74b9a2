import TransferHTTP

/// What a request shows of its client.
struct ShownCredentials: Equatable, Sendable {
    /// Values of the field's lines.
    let authorization: [[UInt8]]

    /// Of a browser's session; counts where there is nothing else.
    let session: String?

    init(_ head: RequestHead, _ way: HTTPWay) {
        authorization = head.fields.values("authorization")
        session = authorization.isEmpty ? SessionCookie.value(head, way) : nil
    }
}
