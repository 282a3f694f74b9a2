import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

extension Server {
    /// Makes the status socket, before the process is confined. A server that cannot make it still serves.
    func bindStatusSocket() {
        guard core.configuration.tellsStatus else { return }
        do throws(SystemError) {
            statusSocket = try StatusSocket.bind(in: core.folders.own)
        } catch {
            core.observability.log.write([.statusUnavailable(error)])
        }
    }

    /// Starts to answer on the status socket.
    func tellStatus() {
        do throws(SystemError) {
            try statusSocket?.serve { [weak core] in core.map { $0.status().json.text + "\n" } ?? "" }
        } catch {
            core.observability.log.write([.statusUnavailable(error)])
        }
    }
}
