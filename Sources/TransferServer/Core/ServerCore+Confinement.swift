import TransferCodec
import TransferIO
import TransferKeys
import TransferStore
import TransferSystem

/// What the process may still do while it serves.
extension ServerCore {
    /// Confines the process to the directory, to removing its Unix sockets when it stops, and to reading again what can be
    /// renewed. Everything else must be open: streams and sockets. Where the kernel cannot, one line says so.
    func confine() {
        do throws(SystemError) {
            let confinement = Confinement()
            try confinement.allowFiles(below: store.directory)
            // Whoever has bound a socket removes its file.
            for case (.unix(let path), _) in configuration.unserved {
                try confinement.allowRemoving(below: Self.folder(of: path))
            }
            if case .listener(.unix(let path)) = configuration.metrics {
                try confinement.allowRemoving(below: Self.folder(of: path))
            }
            for file in rereadFiles {
                // What cannot be allowed cannot be read again. That is no reason to leave the rest unconfined.
                try? confinement.allowReading(file.path, isReplaceable: file.isReplaceable)
            }
            switch try confinement.enforce() {
            case .confined(let version):
                if !configuration.isRestart {
                    observability.log.write([.confined(version: version, to: configuration.directory)])
                }
            case .unprivileged(let reason): observability.log.write([.notConfined(reason)])
            }
        } catch {
            observability.log.write([.notConfined(error.description)])
        }
    }

    /// Opens now what a confined process cannot open any more. What does not do as it must is told: all is slower without it.
    func openLibraries() {
        var refusals = SharedLibraries.open()
        if transport.tls != nil, let refusal = TLSContext.wideAESRefusal {
            refusals.append((WideAES.fileName, refusal))
        }
        for case (let file, .unfit(let reason)) in refusals { observability.log.write([.unfitLibrary(file, reason)]) }
    }

    /// Certificates are renewed by others, who put new files in place of the old ones.
    private var rereadFiles: [ServerConfiguration.RereadFile] {
        guard case .certificate(let certificate, let key) = configuration.security else {
            return configuration.rereadFiles
        }
        return configuration.rereadFiles + [certificate, key].map { .init($0, isReplaceable: true) }
    }

    /// Gives the program its last chance to touch anything else.
    ///
    /// - Returns: what it wants to have logged.
    func announce(_ endpoints: [Endpoint]) -> [LogEvent] {
        let key = transport.tls?.key.map { KeyFingerprint(of: $0.bytes) }
        return configuration.whenBound(ServerConfiguration.Bound(endpoints: endpoints, key: key))
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
