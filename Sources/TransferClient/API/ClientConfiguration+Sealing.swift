import TransferKeys
import TransferSealing

extension ClientConfiguration {
    /// Has this client seal for others, where `seals` says so, and open what was sealed for it. To be called behind `showKey`:
    /// what it seals is signed with that key.
    ///
    /// - Parameter folder: of the files `sealing.key`, which is made where there is none, and `known_people`, with the keys of
    ///   others as they were first seen, and of what is needed to go on with interrupted pushes. It has to be there.
    /// - Throws: `TransferFailure` when there is no key that is shown, or when the file is no key, can be read by others, or cannot be
    ///   made.
    public mutating func useSealing(in folder: String) throws(TransferFailure) {
        guard let key else { throw .noSealingKey }
        do throws(KeyPair.Fault) {
            let sealing = try SealingKey.open("\(folder)/\(SealingKey.fileName)").key
            self.sealing = SealingIdentity(
                key: key, sealing: sealing, people: KnownPeople(path: "\(folder)/\(KnownPeople.fileName)"))
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}
