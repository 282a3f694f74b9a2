/// The files of one folder that the other side has already: for a push, on the server, acknowledged before and
/// unchanged since on both sides; for a pull, here. One question asks about all of them, so their digests are not
/// known.
public struct KnownFolder: Sendable, Equatable {
    /// The directory that was pushed, as it was given or found; or the folder of the server that was pulled.
    public var source: String

    /// The folder with its files, each under its name: below the server's directory, or below the directory that it was
    /// pulled to; empty for that directory itself.
    public var storedPath: String

    /// The number of files, without those in subfolders.
    public var files: Int

    /// The bytes of content of all files together.
    public var bytes: UInt64

    /// For a push: whether all files are durable on the server.
    public var isDurable = false
}
