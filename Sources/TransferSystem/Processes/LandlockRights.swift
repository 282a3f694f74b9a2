/// The rights that a version of Landlock knows, as in linux/landlock.h: a kernel refuses rights that it does not know.
struct LandlockRights {
    /// The rights that Landlock takes from the process for all files and directories, unless a rule permits them.
    let files: UInt64

    /// Binding and connecting TCP sockets, from version 4 on. Sockets that already listen are not affected.
    let network: UInt64

    /// Connecting to abstract Unix sockets of processes outside, and sending signals to such processes, from version 6
    /// on.
    let scopes: UInt64

    private static let writeFile: UInt64 = 1 << 1
    static let readFile: UInt64 = 1 << 2
    private static let readDirectory: UInt64 = 1 << 3
    private static let removingDirectories: UInt64 = 1 << 4
    static let removing: UInt64 = 1 << 5
    private static let makeDirectory: UInt64 = 1 << 7
    private static let makeFile: UInt64 = 1 << 8
    private static let makeLink: UInt64 = 1 << 12
    private static let refer: UInt64 = 1 << 13
    private static let truncate: UInt64 = 1 << 14

    /// The rights that each version added: in version 1 all from executing to making symbolic links, later linking
    /// between directories (2), truncating (3) and ioctl(2) on devices (5).
    private static let added: [(version: Int, rights: UInt64)] = [
        (1, (1 << 13) - 1), (2, refer), (3, truncate), (5, 1 << 15),
    ]

    /// - Parameter version: Landlock's version in the running kernel.
    init(version: Int) {
        files = Self.added.filter { $0.version <= version }.reduce(0) { $0 | $1.rights }
        network = version >= 4 ? 0b11 : 0
        scopes = version >= 6 ? 0b11 : 0
    }

    /// The rights that a store needs for its directory.
    var storing: UInt64 {
        files
            & (Self.writeFile | Self.readFile | Self.readDirectory | Self.removing | Self.removingDirectories
                | Self.makeDirectory | Self.makeFile | Self.makeLink | Self.refer | Self.truncate)
    }
}
