import TransferModel
import TransferSealing
import TransferPorts
import TransferStore

/// What becomes of sealed deliveries: names that the server has not seen, and content that it could not read.
extension ReceivePlan {
    /// What a delivery is called here, unless somebody chooses another name.
    func name(of delivery: Delivery) -> String {
        guard let note = delivery.opened else { return delivery.name }
        guard !options.opens else { return note.name }
        let sealed = note.name + ContentSeal.suffix
        // The longest names have no room for more.
        return (try? RelativePath(sealed)) == nil ? delivery.name : sealed
    }

    /// A delivery that is to be fetched.
    ///
    /// - Parameters:
    ///   - target: what it is called here.
    ///   - isChosen: whether somebody has chosen that name, whatever comes.
    func file(_ delivery: Delivery, _ target: RelativePath, isChosen: Bool) -> PullFile {
        let seal = options.opens ? ContentSeal(delivery, context.configuration.sealing) : nil
        let file = PullFile(delivery, target: target, seal)
        file.losesExecution = !options.takesExecution
        guard let seal else { return file }
        if seal.note == nil, !isChosen, let name = ContentSeal.unsealedName(target.string),
            let path = try? RelativePath(name)
        {
            file.openedTarget = path
        }
        return file
    }

    /// Whether a file that was received can have the content of a delivery, as far as their sizes tell.
    /// What was stored as it came is no answer to somebody who wants it opened: nobody has looked whether it can be.
    /// A file that was opened for another note, or for none, does not count: it was not compared with this note.
    func mayBe(_ file: ReceivedFile, _ delivery: Delivery) -> Bool {
        guard file.note == (options.opens ? delivery.noteDigest : nil) else { return false }
        guard options.opens else { return !file.isOpened }
        guard !delivery.isSealed else { return file.isOpened }
        return !file.isOpened || delivery.isCalledSealed
    }
}

extension ReceivedFile {
    /// Whether the file is opened content; that is always shorter than the sealed file.
    var isOpened: Bool { travelled != version.size }
}
