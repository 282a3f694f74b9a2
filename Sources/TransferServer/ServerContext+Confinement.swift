import TransferCodec
import TransferIO
import TransferStore
import TransferSystem

/// What the process may still do while it serves.
extension ServerContext {
    /// Confines the process to the directory, and to removing its Unix sockets when it stops. Everything else must be
    /// open: streams, sockets, keys and certificates from elsewhere. Where the kernel cannot, one line says so.
    func confine() {
        SharedLibraries.open()
        do throws(SystemError) {
            let confinement = Confinement()
            try confinement.allowFiles(below: store.directory)
            for case .unix(let path) in configuration.endpoints {
                try confinement.allowRemoving(below: Self.folder(of: path))
            }
            switch try confinement.enforce() {
            case .confined(let version): log.write([.confined(version: version, to: configuration.directory)])
            case .unprivileged(let reason): log.write([.notConfined(reason)])
            }
        } catch {
            log.write([.notConfined(error.description)])
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
