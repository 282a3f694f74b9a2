import TransferAccess
import TransferIntake
import TransferModel
import TransferStore

extension ServerConfiguration {
    /// Whether everybody is let in.
    var isOpen: Bool {
        if case .everyone = access { return true }
        return !security.isEncrypted
    }

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
