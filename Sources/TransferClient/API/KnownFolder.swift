/// The files of one folder that the server has already, all of them acknowledged before and unchanged since on both sides: asked
/// about together, so that nobody is told their digests.
public struct KnownFolder: Sendable, Equatable {
    /// The directory that was pushed, as it was given or found.
    public var source: String

    /// Where its files are, relative to the server's directory: each under its name there.
    public var storedPath: String

    /// How many; those in folders of it not counted.
    public var files: Int

    /// Bytes of content, together.
    public var bytes: UInt64

    /// Whether all of them are durable on the server.
    public var isDurable = false
}
