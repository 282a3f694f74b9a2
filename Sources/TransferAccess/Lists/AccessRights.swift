/// Rights of a client in its part of the server's directory.
package enum AccessRights: Hashable, Sendable {
    /// Upload, list, fetch, remove and replace.
    case readWrite
    /// Upload, list and fetch, but neither remove files nor replace those of others.
    case noRemove
    case readOnly
    case writeOnly

    /// Whether the client may upload.
    package var mayWrite: Bool { self != .readOnly }

    /// Whether the client may list and fetch stored files.
    package var mayRead: Bool { self != .writeOnly }

    /// Whether the client may remove stored files, and replace those of others.
    package var mayRemove: Bool { self == .readWrite }
}
