import TransferAccess
import TransferProtocol

extension ServerConfiguration {
    /// Nothing where nobody can be told from anybody.
    var authenticator: Authenticator? {
        guard security.isEncrypted else { return nil }
        let folder = AccessFolder(of: directory)
        return switch access {
        case .everyone: Authenticator(folder, isOpen: true)
        case .listed(let owner): Authenticator(folder, owner: owner)
        }
    }
}

extension ServerContext {
    /// Says what is wrong with the lists of who may come in.
    func logAccessFaults() {
        guard let faults = authenticator?.takeFaults(), !faults.isEmpty else { return }
        log.write(faults.map { .accessFault($0) })
    }
}
