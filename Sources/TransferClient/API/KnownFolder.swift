/// The files of one folder that are on the other side already: of a push, on the server, acknowledged before and unchanged since on both
/// sides; of a pull, here. Asked about together, so that nobody is told their digests.
public struct KnownFolder: Sendable, Equatable {
    /// The directory that was pushed, as it was given or found; or the folder of the server that was pulled.
    public var source: String

    /// Where its files are, each under its name: below the server's directory, or below the one that it was pulled to; empty for that
    /// directory itself.
    public var storedPath: String

    /// How many; those in folders of it not counted.
    public var files: Int

    /// Bytes of content, together.
    public var bytes: UInt64

    /// Of a push: whether all of them are durable on the server.
    public var isDurable = false
}
