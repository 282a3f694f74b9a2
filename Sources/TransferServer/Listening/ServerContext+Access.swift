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

extension ServerContext {
    /// Asks whether a client may still come in, and renews what it may do.
    ///
    /// - Returns: why it may begin nothing any more.
    func recheck(_ client: inout Caller, quota: (Grant) -> Quota?) -> Refusal? {
        guard let authenticator else { return nil }
        defer { logAccessFaults() }
        do throws(Refusal) {
            let grant = try authenticator.recheck(client.grant, at: .now)
            client.renew(grant, quota(grant))
            return nil
        } catch {
            return error
        }
    }

    /// Says what is wrong with the lists of who may come in.
    func logAccessFaults() {
        guard let faults = authenticator?.takeFaults(), !faults.isEmpty else { return }
        log.write(faults.map { .accessFault($0) })
    }
}
