/// What a client may do in its part of the server's directory.
package enum AccessRights: Hashable, Sendable {
    /// Everything.
    case readWrite
    /// Send, see and fetch, but take nothing away from others.
    case noRemove
    case readOnly
    case writeOnly

    /// Whether it may send uploads.
    package var mayWrite: Bool { self != .readOnly }

    /// Whether it may see what is stored.
    package var mayRead: Bool { self != .writeOnly }

    /// Whether it may remove what is stored, and replace what others have sent.
    package var mayRemove: Bool { self == .readWrite }
}
