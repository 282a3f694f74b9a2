/// What a client may do in its part of the server's directory.
package enum AccessRights: Hashable, Sendable {
    case readWrite
    case readOnly
    case writeOnly

    /// Whether it may send uploads.
    package var mayWrite: Bool { self != .readOnly }

    /// Whether it may see what is stored.
    package var mayRead: Bool { self != .writeOnly }
}
