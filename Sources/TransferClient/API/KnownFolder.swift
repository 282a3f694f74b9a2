/// The files of one folder, all of which the receiving side already has. For a push, the server has acknowledged them
/// before, and neither side has changed them since; for a pull, this machine has them. One question asks about the
/// whole folder, so the digests of the files are not known.
public struct KnownFolder: Sendable, Equatable {
    /// The directory that was pushed, as it was given or found; or the folder of the server that was pulled.
    public var source: String

    /// The path of the folder that contains the files, each under its name: below the server's directory, or below the
    /// directory of the pull; empty for that directory itself.
    public var storedPath: String

    /// The number of files, without those in subfolders.
    public var files: Int

    /// The bytes of content of all files together.
    public var bytes: UInt64

    /// For a push: whether all files are durable on the server.
    public var isDurable = false
}
