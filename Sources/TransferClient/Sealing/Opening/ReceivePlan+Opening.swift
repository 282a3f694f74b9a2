import TransferModel
import TransferSealing
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
        guard options.opens, let seal = ContentSeal(delivery, context.configuration.sealing) else {
            return PullFile(delivery, target: target)
        }
        let file = PullFile(delivery, target: target, seal)
        if seal.note == nil, !isChosen, let name = ContentSeal.unsealedName(target.string),
            let path = try? RelativePath(name)
        {
            file.openedTarget = path
        }
        return file
    }

    /// Whether a file that was received can have the content of a delivery, as far as their sizes tell.
    func mayBe(_ file: ReceivedFile, _ delivery: Delivery) -> Bool {
        let isOpened = delivery.isSealed || ContentSeal.unsealedName(delivery.name) != nil
        return isOpened || file.version.size == delivery.size
    }
}
