/// Rights of a client in its part of the server's directory.
package enum AccessRights: Hashable, Sendable {
    /// Upload, list, fetch, remove and replace files.
    case readWrite
    /// Upload, list and fetch files, but neither remove files nor replace those of other clients.
    case noRemove
    case readOnly
    case writeOnly

    /// Whether the client may upload.
    package var mayWrite: Bool { self != .readOnly }

    /// Whether the client may list and fetch stored files.
    package var mayRead: Bool { self != .writeOnly }

    /// Whether the client may remove stored files, and replace files of other clients.
    package var mayRemove: Bool { self == .readWrite }
}
